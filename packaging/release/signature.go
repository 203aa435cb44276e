package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
)

// publicKeyFile has the key with which the signatures of a release are verified. Whoever verifies compares it with the
// key that the project has published: one that came with the files proves nothing.
const publicKeyFile = "holdfast.pub"

// envelopeFile has the signed provenance.
const envelopeFile = "provenance.intoto.jsonl"

// readKey reads a private key: PEM of PKCS #8 or SEC 1, as openssl writes it, without a passphrase.
func readKey(name string) (*ecdsa.PrivateKey, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	rest := content
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil, fmt.Errorf("%s has no private key in PEM that has no passphrase; make one: "+
				"openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out %[1]s", name)
		}
		var key any
		switch block.Type {
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		default: // openssl writes the parameters of the curve before a key
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		private, ok := key.(*ecdsa.PrivateKey)
		if !ok || private.Curve != elliptic.P256() {
			return nil, fmt.Errorf("%s has a key of another kind; want ECDSA on the curve P-256", name)
		}
		return private, nil
	}
}

// sign returns a signature of SHA-256, in ASN.1, as `openssl dgst -sha256 -verify` and cosign take it.
func sign(key *ecdsa.PrivateKey, content []byte) ([]byte, error) {
	digest := sha256.Sum256(content)
	return key.Sign(rand.Reader, digest[:], crypto.SHA256)
}

// signFile writes the signature of a file beside it.
func signFile(key *ecdsa.PrivateKey, name string) error {
	content, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	signature, err := sign(key, content)
	if err != nil {
		return err
	}
	return os.WriteFile(name+".sig", signature, 0o644)
}

// envelope is a signed payload: https://github.com/secure-systems-lab/dsse.
type envelope struct {
	PayloadType string      `json:"payloadType"`
	Payload     []byte      `json:"payload"`
	Signatures  []signature `json:"signatures"`
}

type signature struct {
	KeyID string `json:"keyid"`
	Sig   []byte `json:"sig"`
}

const payloadType = "application/vnd.in-toto+json"

// encoded is what is signed of a payload: its type and itself, with their lengths.
func encoded(payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload)
}

// writeEnvelope writes the signed provenance, one line.
func writeEnvelope(key *ecdsa.PrivateKey, dir string, statement []byte) error {
	signed, err := sign(key, encoded(statement))
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	id := sha256.Sum256(public)
	line, err := json.Marshal(envelope{payloadType, statement, []signature{{hex.EncodeToString(id[:]), signed}}})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, envelopeFile), append(line, '\n'), 0o644)
}

func writePublicKey(key *ecdsa.PrivateKey, dir string) error {
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	content := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	return os.WriteFile(filepath.Join(dir, publicKeyFile), content, 0o644)
}
