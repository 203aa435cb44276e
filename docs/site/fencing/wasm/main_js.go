// The demonstration of fencing as a module for browsers. It sets the global fencing, whose functions return the world
// as JSON: reset(guarded), advance(milliseconds), step(), pause(place), resume(place).
package main

import (
	"encoding/json"
	"syscall/js"
	"time"

	"github.com/holdfast-io/holdfast/docs/site/fencing"
)

func main() {
	world := fencing.New(false)
	does := map[string]func(args []js.Value){
		"reset":   func(args []js.Value) { world = fencing.New(args[0].Bool()) },
		"advance": func(args []js.Value) { world.Advance(time.Duration(args[0].Int()) * time.Millisecond) },
		"step":    func([]js.Value) { world.Step() },
		"pause":   func(args []js.Value) { world.Pause(args[0].Int()) },
		"resume":  func(args []js.Value) { world.Resume(args[0].Int()) },
	}
	functions := make(map[string]any)
	for name, do := range does {
		functions[name] = js.FuncOf(func(_ js.Value, args []js.Value) any {
			do(args)
			text, err := json.Marshal(world.View())
			if err != nil {
				return err.Error() // a View has nothing that JSON cannot have
			}
			return string(text)
		})
	}
	js.Global().Set("fencing", functions)
	select {}
}
