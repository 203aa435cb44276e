package fenceredis

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// Script is a write in Lua that runs on the server behind a guard's check. The zero Script is not
// usable. It may be used concurrently.
type Script struct {
	source string
	hash   string // by which the server knows it
}

// NewScript returns a script of the body of a Lua function, as EVAL takes it, without a shebang line. What
// varies belongs in KEYS and ARGV: the server keeps each different body. Mistakes in it are found by the
// server, before anything runs.
func NewScript(body string) *Script {
	return newScript(body, "")
}

// newScript returns a script that writes nothing where the Lua of changed returns true.
func newScript(body, changed string) *Script {
	source := begin + body + condition + changed + check
	hash := sha1.Sum([]byte(source))
	return &Script{source, hex.EncodeToString(hash[:])}
}

// The body is a function above everything else, so that it sees none of the names below, and begins in
// the first line, so that errors name the line that its author counts. The guard's own
// values are last in KEYS and ARGV and are removed first. Tokens are compared as text: numbers in Lua are doubles.
// A mark that is high enough is not written again, which spares the log.
//
// The key of the write comes first of all and holds its result. It is there, and empty, before the write
// begins: a script that stops half-way is not rolled back.
const (
	begin     = `local write = function() `
	condition = `
end
local changed = function() `
	check = `
end
local rule = table.remove(ARGV)
local token = table.remove(ARGV)
local remembered = table.remove(ARGV)
local made = table.remove(KEYS)
local mark = table.remove(KEYS)
local function reply(result)
	if type(result) == 'table' and result.err then return result end
	return {'passed', result or false}
end
local before = redis.call('GET', made)
if before == '' then return {'broken off'} end
if before then return reply(cmsgpack.unpack(before)) end -- mutant: RepetitionNotKnown
local highest = redis.pcall('GET', mark)
if highest then
	if type(highest) == 'table' then return {'foreign', highest.err} end
	if #highest ~= 15 or highest:find('%D') or highest < '000000000000001' or highest > '900000000000000' then
		return {'foreign', 'it is no token: ' .. highest}
	end
	if token < highest or rule == 'once' and token == highest then return {'refused', highest} end
end
if changed() then return {'changed'} end -- mutant: ChangeNotNoticed
redis.call('SET', made, '', 'PX', remembered)
if token ~= highest then redis.call('SET', mark, token) end
local result = write()
redis.call('SET', made, cmsgpack.pack(result or false), 'PX', remembered)
return reply(result)
`
)

// arguments returns what follows the script in EVAL and EVALSHA.
func (s *Script) arguments(keys, args []string, token fence.Token, rule fence.Rule) []any {
	all := make([]any, 0, len(keys)+len(args)+6)
	all = append(all, "EVALSHA", s.hash, strconv.Itoa(len(keys)))
	for _, list := range [][]string{keys, args, {strconv.FormatInt(remembered.Milliseconds(), 10), token.String(),
		rule.String()}} {
		for _, a := range list {
			all = append(all, a)
		}
	}
	return all
}

// send names the script by its hash, and sends it whole to a server that has not seen it, or has
// forgotten it: a server that says so has run nothing. A function library would save the second try, but
// needs Redis 7, a step that loads it, and an answer to old and new versions side by side.
func (s *Script) send(ctx context.Context, do Do, args []any) (any, error) {
	reply, err := do(ctx, args...)
	if !hasCode(err, "NOSCRIPT") {
		return reply, err
	}
	args[0], args[1] = "EVAL", s.source
	return do(ctx, args...)
}

// hasCode reports whether err is, or wraps, the server's error reply of this code.
func hasCode(err error, code string) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if strings.HasPrefix(err.Error(), code+" ") {
			return true
		}
	}
	return false
}
