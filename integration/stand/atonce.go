package stand

import (
	"flag"
	"strconv"
)

// AtOnce lets so many parallel tests run at the same time, unless -parallel says otherwise. It is for TestMain of a
// package whose parallel tests wait most of the time, which calls it after flag.Parse.
func AtOnce(n int) {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		panic(err)
	}
}
