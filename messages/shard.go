package messages

import (
	"strconv"
	"strings"
)

// Shard is one of the parts into which a deployment divides its resources. The zero Shard is the first one of a new
// deployment.
type Shard struct {
	// Generation grows with each change of the number of shards.
	Generation uint32
	// Number is below the number of shards of the generation.
	Number uint32
}

// Shards is how a deployment divides its resources, as [Info] says it.
type Shards struct {
	Generation uint32
	// Count is how many shards there are; 0: it is not known.
	Count uint32
}

// Of returns the shard of a key. It panics if Count is 0.
func (s Shards) Of(key string) Shard { return s.Shard(ShardOf(key, s.Count)) }

// Shard returns one of the shards by its number.
func (s Shards) Shard(number uint32) Shard { return Shard{Generation: s.Generation, Number: number} }

// ShardsOf returns what the service says about its shards.
func ShardsOf(i *Info) Shards { return Shards{Generation: i.GetGeneration(), Count: i.GetShards()} }

// level is the shard in a subject: 3, and 2-3 in generation 2.
func (s Shard) level() string { return s.join("-") }

// bucket is the shard in the name of its bucket: 3, and 2_3 in generation 2.
func (s Shard) bucket() string { return s.join("_") }

func (s Shard) join(separator string) string {
	number := strconv.FormatUint(uint64(s.Number), 10)
	if s.Generation == 0 {
		return number
	}
	return strconv.FormatUint(uint64(s.Generation), 10) + separator + number
}

// parseShard parses the level of a subject that names a shard, without signs and leading zeros.
func parseShard(level string) (s Shard, err error) {
	generation, number, later := strings.Cut(level, "-")
	if !later {
		generation, number = "0", level
	}
	g, err := strconv.ParseUint(generation, 10, 32)
	n, err2 := strconv.ParseUint(number, 10, 32)
	s = Shard{Generation: uint32(g), Number: uint32(n)}
	if err != nil || err2 != nil || s.level() != level {
		return Shard{}, Invalid("shard", "a number, or a generation above 0, a hyphen and a number", quote(level))
	}
	return s, nil
}
