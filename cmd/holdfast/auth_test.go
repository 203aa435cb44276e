package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// secretHash is the bcrypt hash of the password secret.
const secretHash = "$2a$04$WFQfnrJkSp3P/egIefgT0.I6ZaxbpoqFTuB4fq4i3/UkgbeysTbzW"

// seed writes an nkey to a file, and returns it with its public key.
func seed(t *testing.T, pair nkeys.KeyPair) (file, public string) {
	t.Helper()
	text := stand.Value(pair.Seed())(t)
	file = filepath.Join(t.TempDir(), "seed.nk")
	write(t, file, string(text))
	return file, publicKey(t, pair)
}

func publicKey(t *testing.T, pair nkeys.KeyPair) string {
	t.Helper()
	return stand.Value(pair.PublicKey())(t)
}

func newPair(t *testing.T, create func() (nkeys.KeyPair, error)) nkeys.KeyPair {
	t.Helper()
	return stand.Value(create())(t)
}

// authFile writes a file for --auth.
func authFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "auth.conf")
	write(t, file, text)
	return file
}

// alice is the environment of a client of that name.
func (p *process) alice(password string) []string {
	return []string{"NATS_URL=" + p.url, "NATS_USER=alice", "NATS_PASSWORD=" + password}
}

// Users with hashed passwords and with nkeys, one of them with an inbox of its own. A login opens the address to other
// hosts.
func TestUsersByFile(t *testing.T) {
	t.Parallel()
	node, nodeKey := seed(t, newPair(t, nkeys.CreateUser))
	robot, robotKey := seed(t, newPair(t, nkeys.CreateUser))
	p := serve(t, "--listen", "0.0.0.0:0", "--nkey", node, "--identity", "user", "--auth", authFile(t, fmt.Sprintf(`
		TIMEOUT = 3
		accounts { APP: {
			jetstream: enabled
			users: [
				{ nkey: %s }
				{ nkey: %s, permissions: { publish: "locks.>" } }
				{ user: alice, password: "%s", permissions: { publish: "locks.>", subscribe: "_INBOX_alice.>" } }
			]
			exports: [ { service: "holdfast.>", response_threshold: "65m" } ]
			imports: [ { service: { account: APP, subject: "holdfast.>" }, to: "locks.>", share: true } ]
		} }
		authorization { timeout: $TIMEOUT }`, nodeKey, robotKey, secretHash)))
	if line := p.out.WaitFor(t, p.done, "as one of:"); !strings.Contains(line, "the users in /") {
		t.Errorf("how to log in: %q", line)
	}
	alice := func(args ...string) result {
		return runWith(t, p.alice("secret"), append(args, "--prefix", "locks", "--inbox-prefix", "_INBOX_alice")...)
	}
	alice("acquire", "orders.42", "--owner", "alice/1").want(t, 0, `token 1`)
	alice("acquire", "orders.43", "--owner", "bob/1").want(t, 2, `invalid`)
	runWith(t, p.alice("secret"), "get", "orders.42", "--prefix", "locks", "--timeout", "1s").want(t, 5,
		`does not permit`)
	runWith(t, p.alice("Secret"), "get", "orders.42").want(t, 5, `the NATS server at \S+ does not permit this user`)
	run(t, "acquire", "orders.44", "--server", p.url, "--nkey", robot, "--prefix", "locks", "--owner", robotKey).want(t,
		0, `token 1`)
	run(t, "get", "orders.42", "--server", p.url).want(t, 5, `the NATS server at \S+ does not permit this user`)
}

// What an --auth file may not say, or what does not let the node in, is refused with what to write instead.
func TestAuthRefusals(t *testing.T) {
	t.Parallel()
	login := []string{"--user", "node", "--password", "secret"}
	users := `users: [ { user: node, password: "` + secretHash + `" } ]`
	data := t.TempDir()
	for _, test := range []struct {
		text string
		args []string
		code int
		says string
	}{
		{`listen: "0.0.0.0:4222"`, login, 2,
			`auth\.conf has listen; a file with logins has none, give --listen instead`},
		{`tls { cert_file: "c" }`, login, 2,
			`auth\.conf has tls; .*give --tls-cert, --tls-key, --tls-ca and --tls-verify instead`},
		{`jetstream { store_dir: "d" }`, login, 2, `auth\.conf has jetstream; .*give --data instead`},
		{`leafnodes { port: 7422 }`, login, 2, `auth\.conf has leafnodes, which is no login; .*--nats-config`},
		{`authorization { users: [`, login, 2, `auth\.conf: `},
		{`authorization { users: [ { user: node } ] }`, login, 2, `auth\.conf does not admit the login of this node; `},
		{`authorization { ` + users + ` }`, nil, 2,
			`auth\.conf does not admit the login of this node; give --creds, --nkey, or --user and --password`},
		{`authorization { ` + users + ` }`, []string{"--user", "node", "--password", "wrong"}, 2,
			`auth\.conf does not admit the login of this node`},
		{`accounts { APP: { ` + users + ` } }`, login, 2,
			`auth\.conf: the account of this node's user has no JetStream, .*write jetstream: enabled`},
		{`authorization { ` + users + ` }, no_auth_user: node`, append([]string{"--listen", "0.0.0.0:0"}, login...), 1,
			`open to other hosts without authentication: no_auth_user lets clients in`},
		{`accounts { APP: { jetstream: enabled } }`, []string{"--listen", "0.0.0.0:0"}, 1,
			`open to other hosts without authentication: no login is required`},
		{`authorization { ` + users + ` }`, append([]string{"--identity", "user"}, login...), 2,
			`auth\.conf has no user with an nkey`},
		{`authorization { ` + users + ` }`, append([]string{"--name", "n1", "--cluster-listen", "0.0.0.0:0", "--routes",
			"127.0.0.1:6222"}, login...), 1, `open to other hosts without authentication: members are not verified`},
	} {
		run(t, append([]string{"serve", "--listen", "127.0.0.1:0", "--data", data, "--auth", authFile(t, test.text)},
			test.args...)...).want(t, test.code, `^holdfast: .*`+test.says)
	}
	// The locks of a node without logins are in the global account.
	p := serve(t, "--data", data)
	p.kill(t)
	run(t, append([]string{"serve", "--listen", "127.0.0.1:0", "--data", data, "--auth",
		authFile(t, `accounts { APP: { jetstream: enabled, `+users+` } }`)}, login...)...).
		want(t, 1, `^holdfast: .* holds the locks of another account than APP`)
	serve(t, append([]string{"--data", data, "--auth", authFile(t, `authorization { `+users+` }`)}, login...)...)
}

// operatorFile returns a file for --auth that trusts an operator with one account, and what makes credentials of its
// users.
func operatorFile(t *testing.T) (text string, creds func(name string) (file string)) {
	t.Helper()
	operator, account, system := newPair(t, nkeys.CreateOperator), newPair(t, nkeys.CreateAccount),
		newPair(t, nkeys.CreateAccount)
	encode := func(claims jwt.Claims, by nkeys.KeyPair) string {
		return stand.Value(claims.Encode(by))(t)
	}
	app := jwt.NewAccountClaims(publicKey(t, account))
	app.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit,
		Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
	text = fmt.Sprintf("operator: %s\nsystem_account: %s\nresolver: MEMORY\nresolver_preload: { %s: %s, %s: %s }\n",
		encode(jwt.NewOperatorClaims(publicKey(t, operator)), operator), publicKey(t, system),
		publicKey(t, system), encode(jwt.NewAccountClaims(publicKey(t, system)), operator), publicKey(t, account),
		encode(app, operator))
	return text, func(name string) string {
		pair := newPair(t, nkeys.CreateUser)
		claims := jwt.NewUserClaims(publicKey(t, pair))
		claims.Name = name
		private := stand.Value(pair.Seed())(t)
		file := stand.Value(jwt.FormatUserConfig(encode(claims, account), private))(t)
		path := filepath.Join(t.TempDir(), name+".creds")
		write(t, path, string(file))
		return path
	}
}

// An operator with JWTs: the node and its clients log in with credentials, clients also by a context that has the JWT
// in it. The accounts are in the file, or in a directory.
func TestJWTByFile(t *testing.T) {
	t.Parallel()
	text, creds := operatorFile(t)
	_, strange := operatorFile(t)
	alice := creds("alice")
	var p *process
	for _, resolver := range []string{"MEMORY", fmt.Sprintf("{ type: full, dir: %q }", t.TempDir())} {
		p = serve(t, "--listen", "0.0.0.0:0", "--creds", creds("node"), "--auth",
			authFile(t, strings.Replace(text, "MEMORY", resolver, 1)))
		run(t, "acquire", "orders.42", "--server", p.url, "--creds", alice).want(t, 0, `token 1`)
		run(t, "get", "orders.42", "--server", p.url, "--creds", strange("bob")).want(t, 5,
			`the NATS server at \S+ does not permit this user`)
		p.hangUp(t, "msg=reloaded what=NATS")
		run(t, "get", "orders.42", "--server", p.url, "--creds", alice).want(t, 0, `^held`)
	}

	file := stand.Value(os.ReadFile(alice))(t)
	token := stand.Value(nkeys.ParseDecoratedJWT(file))(t)
	pair := stand.Value(nkeys.ParseDecoratedUserNKey(file))(t)
	private := stand.Value(pair.Seed())(t)
	dir := t.TempDir()
	stand.Must(t, os.MkdirAll(filepath.Join(dir, "nats", "context"), 0o700))
	write(t, filepath.Join(dir, "nats", "context", "jwt.json"),
		fmt.Sprintf(`{"url":%q,"user_jwt":%q,"user_seed":%q}`, p.url, token, private))
	runWith(t, []string{"XDG_CONFIG_HOME=" + dir}, "get", "orders.42", "--context", "jwt").want(t, 0, `^held`)
}

// A service of the operator decides who may log in. The node is one of its users, because it starts before the service.
func TestAuthCallout(t *testing.T) {
	t.Parallel()
	issuer := newPair(t, nkeys.CreateAccount)
	p := serve(t, "--listen", "0.0.0.0:0", "--user", "node", "--password", "secret", "--auth", authFile(t, fmt.Sprintf(`
		accounts {
			APP: { jetstream: enabled, users: [ { user: node, password: "%[1]s" } ] }
			AUTH: { users: [ { user: callout, password: "%[1]s" } ] }
		}
		authorization { auth_callout { issuer: %[2]s, account: AUTH, auth_users: [ node, callout ] } }`, secretHash,
		publicKey(t, issuer))))
	callout := stand.Dial(t, p.url, nats.UserInfo("callout", "secret"))
	_, err := callout.Subscribe("$SYS.REQ.USER.AUTH", func(m *nats.Msg) {
		request, err := jwt.DecodeAuthorizationRequestClaims(string(m.Data))
		if err != nil {
			t.Error(err)
			return
		}
		answer := jwt.NewAuthorizationResponseClaims(request.UserNkey)
		answer.Audience = request.Server.ID
		if request.ConnectOptions.Username == "alice" && request.ConnectOptions.Password == "by callout" {
			user := jwt.NewUserClaims(request.UserNkey)
			user.Name, user.Audience = "alice", "APP"
			answer.Jwt, err = user.Encode(issuer)
		} else {
			answer.Error = "not alice"
		}
		token, err2 := answer.Encode(issuer)
		if err != nil || err2 != nil {
			t.Error(err, err2)
		}
		if err := m.Respond([]byte(token)); err != nil {
			t.Error(err)
		}
	})
	if err == nil {
		err = callout.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	runWith(t, p.alice("by callout"), "acquire", "orders.42").want(t, 0, `token 1`)
	runWith(t, p.alice("wrong"), "get", "orders.42").want(t, 5, `the NATS server at \S+ does not permit this user`)
	run(t, "get", "orders.42", "--server", p.url).want(t, 5, `the NATS server at \S+ does not permit this user`)
	if strings.Contains(p.log.String(), "secret") {
		t.Error("the log shows a password")
	}
}

// A member is not removed where the locks are in an account, whose replicas the command does not see.
func TestMembersWithAccounts(t *testing.T) {
	t.Parallel()
	auth := authFile(t,
		fmt.Sprintf(`accounts { APP: { jetstream: enabled, users: [ { user: node, password: "%s" } ] } }`, secretHash))
	m := stand.StartMembers(t, 3, "--auth", auth, "--user", "node", "--password", "secret")
	m.All[2].Kill()
	run(t, "members", "remove", "n3", "--routes", m.Routes()).want(t, 2,
		`if the nodes have an account of their own, use a user of the system account`)
}
