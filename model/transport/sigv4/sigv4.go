// Package sigv4 signs requests to Amazon Bedrock with AWS credentials (Signature Version 4).
//
// The credentials are JSON, as the AWS CLI prints them for other programs (credential_process):
//
//	{"Version": 1, "AccessKeyId": "…", "SecretAccessKey": "…", "SessionToken": "…", "Expiration": "…"}
package sigv4

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Credentials are AWS credentials.
type Credentials struct {
	AccessKeyID     string `json:"AccessKeyId"`
	SecretAccessKey string `json:"SecretAccessKey"`
	SessionToken    string `json:"SessionToken,omitempty"`
	Expiration      string `json:"Expiration,omitempty"` // RFC 3339
}

// Parse reads credentials. Its errors contain nothing of them.
func Parse(text string) (Credentials, error) {
	var c Credentials
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return c, errors.New("the AWS credentials are not the JSON that \"aws configure export-credentials\" prints")
	}
	if c.AccessKeyID == "" || c.SecretAccessKey == "" {
		return c, errors.New("the AWS credentials have no AccessKeyId or no SecretAccessKey")
	}
	return c, nil
}

// Secrets returns the parts of credentials that must not be shown; nil for other texts.
func Secrets(text string) []string {
	c, err := Parse(text)
	if err != nil {
		return nil
	}
	return []string{c.SecretAccessKey, c.SessionToken}
}

// Expiration returns when credentials expire; the zero time if they do not say so, and for other
// texts.
func Expiration(text string) time.Time {
	c, err := Parse(text)
	if err != nil {
		return time.Time{}
	}
	expires, err := time.Parse(time.RFC3339, c.Expiration)
	if err != nil {
		return time.Time{}
	}
	return expires
}

// Signer signs requests for one service in one region.
type Signer struct {
	Region, Service string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Sign is the Sign of a transport.Endpoint.
func (s Signer) Sign(req *http.Request, body []byte, key string) error {
	c, err := Parse(key)
	if err != nil {
		return err
	}
	now := time.Now
	if s.Now != nil {
		now = s.Now
	}
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	err = v4.NewSigner().SignHTTP(req.Context(), aws.Credentials{
		AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey, SessionToken: c.SessionToken,
	}, req, hash, s.Service, s.Region, now().UTC())
	if err != nil {
		return fmt.Errorf("cannot make the signature: %w", err)
	}
	return nil
}
