package fences3

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// Verify writes an object below the prefix of the marks, tries what a paused holder would do to it, and
// deletes it. It is [fence.ErrUnfit] if the store lets that happen, and the store's error if it cannot be
// asked. It proves that conditions are checked; that the check is atomic with the write is the store's
// word.
func (b *Bucket) Verify(ctx context.Context) error {
	p := probe{Bucket: b, key: b.prefix + "probe/" + rand.Text()}
	err := p.run(ctx)
	_, cleared := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: &p.key})
	if cleared != nil {
		cleared = b.wrong("deleting", p.key, cleared)
	}
	return errors.Join(err, cleared)
}

// probe is an object that is written to try the store.
type probe struct {
	*Bucket
	key string
}

func (p probe) run(ctx context.Context) error {
	absent := state{}
	if err := p.accepts(ctx, 1, absent); err != nil {
		return err
	}
	if err := p.refuses(ctx, 2, absent, "a second write with If-None-Match: *"); err != nil {
		return err
	}
	unknown := state{etag: `"00000000000000000000000000000000"`}
	if err := p.refuses(ctx, 3, unknown, "a write with If-Match and an ETag that never was"); err != nil {
		return err
	}
	first, err := p.sees(ctx, 1)
	if err != nil {
		return err
	}
	if err := p.accepts(ctx, 4, first); err != nil {
		return err
	}
	outdated := "a write with If-Match and the ETag of the write before"
	if p.plain {
		outdated += ", which had the same bytes; leave WithPlainBodies out"
	}
	if err := p.refuses(ctx, 5, first, outdated); err != nil {
		return err
	}
	_, err = p.sees(ctx, 4)
	return err
}

// write puts the probe as a guarded write would that has seen the state. Its bytes are always the same,
// but for the stamp.
func (p probe) write(ctx context.Context, token fence.Token, seen state) error {
	d := draft{PutObjectInput: s3.PutObjectInput{Key: &p.key}, body: []byte("probe"), stamped: !p.plain}
	c := fence.Claim{Token: token}
	d.prepare(p.name, c)
	d, err := d.filled(c, seen)
	if err == nil {
		_, err = p.put(ctx, d, seen)
	}
	return err
}

func (p probe) accepts(ctx context.Context, token fence.Token, seen state) error {
	err := p.write(ctx, token, seen)
	if isConflict(err) {
		return fmt.Errorf("bucket %q: %w: it refused a write whose condition held: %w", p.name, fence.ErrUnfit, err)
	}
	if err != nil {
		return p.wrong("probing", p.key, err)
	}
	return nil
}

func (p probe) refuses(ctx context.Context, token fence.Token, seen state, what string) error {
	err := p.write(ctx, token, seen)
	switch {
	case err == nil:
		return fmt.Errorf("bucket %q: %w: it took %s", p.name, fence.ErrUnfit, what)
	case !isConflict(err):
		return p.wrong("probing", p.key, err)
	}
	return nil
}

// sees reads the probe, and checks that it is of the token.
func (p probe) sees(ctx context.Context, token fence.Token) (state, error) {
	s, err := p.read(ctx, p.key, false)
	if err == nil && s.token != token {
		err = fmt.Errorf("bucket %q: %w: it gives metadata of token %v after one of %v was written", p.name,
			fence.ErrUnfit, s.token, token)
	}
	return s, err
}
