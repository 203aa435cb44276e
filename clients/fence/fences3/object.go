package fences3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// Get reads an object as GetObject does, without its stamp. To change it, use [Bucket.Modify]. The error is a
// *types.NoSuchKey if there is none, or a tombstone, and [fence.ErrMalformed] if the stored mark is not one. The input
// may have no range, because ranges count the stamp.
func (b *Bucket) Get(ctx context.Context, in *s3.GetObjectInput) (*s3.GetObjectOutput, error) {
	if in.Range != nil || in.PartNumber != nil {
		return nil, fmt.Errorf("%w: the input has a range, which would count the stamp; leave it out", fence.ErrInvalid)
	}
	whole := *in
	whole.Bucket = &b.name
	key := aws.ToString(in.Key)
	out, err := b.client.GetObject(ctx, &whole)
	if err != nil {
		return nil, b.wrong("reading", key, err)
	}
	if err := unstamp(out); err != nil {
		_ = out.Body.Close()
		return nil, b.wrong("reading", key, err)
	}
	return out, nil
}

// unstamp takes the stamp off an answer.
func unstamp(out *s3.GetObjectOutput) error {
	if _, err := tokenOf(out.Metadata); err != nil {
		return err
	}
	if out.Metadata[metaDeleted] != "" {
		return &types.NoSuchKey{Message: aws.String("the object was deleted, and its mark kept")}
	}
	length, ok := out.Metadata[metaStamp]
	if !ok {
		return nil
	}
	n, err := strconv.ParseInt(length, 10, 64)
	if rest := aws.ToInt64(out.ContentLength) - n; err == nil && n >= 0 && rest >= 0 {
		out.Body = &content{io.LimitedReader{R: out.Body, N: rest}, out.Body}
		out.ContentLength = &rest
		return nil
	}
	return fmt.Errorf("%w: a stamp of %q bytes at the end of %d", fence.ErrMalformed, length,
		aws.ToInt64(out.ContentLength))
}

// content is a body without its stamp. It reads the stamp as well, so that the SDK sees all that its
// checksum is of.
type content struct {
	io.LimitedReader
	body io.ReadCloser
}

// Read reads the caller's bytes.
func (c *content) Read(p []byte) (int, error) {
	n, err := c.LimitedReader.Read(p)
	if errors.Is(err, io.EOF) {
		if _, wrong := io.Copy(io.Discard, c.body); wrong != nil {
			return n, wrong
		}
	}
	return n, err
}

// Close closes the connection's side of the body.
func (c *content) Close() error { return c.body.Close() }

// state is what a write is conditioned on: the ETag, empty if there is no object, and its mark.
type state struct {
	etag  string
	token fence.Token
	body  []byte // of the whole object, if that was read; nil if there is none
}

// read reads the state of an object. Unless it is to read the whole, it asks for its last byte, and not by HEAD,
// because there are stores that read the metadata of one write and then the ETag of the next for a HEAD; for a GET they
// open the object after its ETag, which is the safe order: an old ETag makes the put fail.
func (b *Bucket) read(ctx context.Context, key string, whole bool) (state, error) {
	in := &s3.GetObjectInput{Bucket: &b.name, Key: &key}
	if !whole {
		in.Range = aws.String("bytes=-1")
	}
	out, err := b.client.GetObject(ctx, in)
	if code(err) == codeNoRange { // an empty object, written without the guard
		in.Range = nil
		out, err = b.client.GetObject(ctx, in)
	}
	switch {
	case code(err) == codeNoKey:
		return state{}, nil
	case err != nil:
		return state{}, b.wrong("reading the mark of", key, err)
	}
	defer func() { _ = out.Body.Close() }()
	s := state{etag: aws.ToString(out.ETag)}
	if s.etag == "" {
		return s, b.wrong("reading the mark of", key,
			errors.New("the store gives no ETag, so nothing can be conditioned on it"))
	}
	if s.token, err = tokenOf(out.Metadata); err != nil {
		return s, b.wrong("reading the mark of", key, err)
	}
	if !whole {
		return s, nil
	}
	if s.body, err = contentOf(out); err != nil {
		return s, b.wrong("reading", key, err)
	}
	return s, nil
}

// contentOf returns the caller's bytes of an answer, nil of a tombstone.
func contentOf(out *s3.GetObjectOutput) ([]byte, error) {
	err := unstamp(out)
	if code(err) == codeNoKey {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return readBody(out.Body)
}

// tokenOf returns the mark in an object's metadata, 0 if there is none.
func tokenOf(metadata map[string]string) (fence.Token, error) {
	digits, ok := metadata[metaToken]
	if !ok {
		return 0, nil
	}
	token, err := fence.ParseToken(digits)
	if err != nil {
		// not %w: the claim is not invalid
		return 0, fmt.Errorf("%w: metadata %s: %s", fence.ErrMalformed, metaToken, err.Error())
	}
	return token, nil
}
