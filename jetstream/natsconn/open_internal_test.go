package natsconn

import (
	"reflect"
	"testing"

	"github.com/nats-io/nats.go"
)

// own are the options of NATS that a node sets itself. All others lead to a server, and are those of the application.
var own = map[string]bool{
	"NoEcho": true, "Name": true, "Verbose": true, "Pedantic": true, "AllowReconnect": true, "MaxReconnect": true,
	"ReconnectWait": true, "CustomReconnectDelayCB": true, "ReconnectJitter": true, "ReconnectJitterTLS": true,
	"DrainTimeout": true, "FlusherTimeout": true, "ReconnectOnFlusherError": true, "PingInterval": true, "MaxPingsOut": true,
	"ClosedCB": true, "DisconnectedCB": true, "DisconnectedErrCB": true, "ConnectedCB": true, "ReconnectedCB": true,
	"DiscoveredServersCB": true, "AsyncErrorCB": true, "ReconnectErrCB": true, "ReconnectToServerCB": true,
	"ReconnectBufSize": true, "SubChanLen": true, "UseOldRequestStyle": true, "NoCallbacksAfterClientClose": true,
	"LameDuckModeHandler": true, "RetryOnFailedConnect": true, "PermissionErrOnSubscribe": true,
	"SkipSubjectValidation": true, "WriteBufferSize": true, "Dialer": true, // which goes into CustomDialer
}

// Each option of NATS is either one that leads to a server, or one that a node sets itself: none is passed on because it
// was forgotten, and no new way to log in is left out.
func TestDestination(t *testing.T) {
	of := reflect.New(reflect.TypeFor[nats.Options]()).Elem()
	for i := range of.NumField() {
		fill(of.Field(i))
	}
	got := reflect.ValueOf(destination(of.Interface().(nats.Options)))
	untouched := reflect.ValueOf(destination(nats.Options{}))
	for i := range of.NumField() {
		name := of.Type().Field(i).Name
		switch taken := !same(got.Field(i), untouched.Field(i)); {
		case name == "InProcessServer" || name == "CustomDialer": // below
		case taken == own[name]:
			t.Errorf("%s: taken over: %v", name, taken)
		}
	}
}

// same reports whether two options are the same; of functions, whether both are nil.
func same(a, b reflect.Value) bool {
	if a.Kind() == reflect.Func {
		return a.IsNil() == b.IsNil()
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

// fill gives an option a value that is not its default.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.String:
		v.SetString("x")
	case reflect.Slice:
		v.Set(reflect.ValueOf([]string{"x"}))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Func:
		v.Set(reflect.MakeFunc(v.Type(), func([]reflect.Value) []reflect.Value { panic("called") }))
	}
}
