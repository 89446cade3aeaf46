package avroconfluent

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/weir-sql/weir/connectors"
)

// registry talks to a schema registry. Its errors do not repeat logins.
type registry struct {
	urls   []*url.URL
	auth   string // of the header Authorization
	client *http.Client
}

func newRegistry(o map[string]string) (*registry, error) {
	r := &registry{client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment}}}
	for _, s := range strings.Split(o["url"], ",") {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, errors.New("option 'avro-confluent.url': it must be http://host:port or https://host:port")
		}
		r.urls = append(r.urls, u)
	}
	if len(r.urls) == 0 {
		return nil, errors.New("the format 'avro-confluent' needs the option 'url': the address of the schema registry")
	}
	info, token := o["basic-auth.user-info"], o["bearer-auth.token"]
	basic := connectors.GetEnum(o, "basic-auth.credentials-source", "", "USER_INFO") != ""
	bearer := connectors.GetEnum(o, "bearer-auth.credentials-source", "", "STATIC_TOKEN") != ""
	switch {
	case basic && info == "" || bearer && token == "":
		return nil, errors.New("options 'avro-confluent.basic-auth.credentials-source' and '.user-info', or 'bearer-auth.credentials-source' and '.token', need each other")
	case info != "" && token != "":
		return nil, errors.New("options 'avro-confluent.basic-auth.*' and 'avro-confluent.bearer-auth.*' exclude each other")
	case info != "":
		r.auth = "Basic " + base64.StdEncoding.EncodeToString([]byte(info))
	case token != "":
		r.auth = "Bearer " + token
	}
	return r, nil
}

// unknownSchema says that the registry does not have a schema: the record is wrong, not the registry.
type unknownSchema struct{ id int32 }

func (e *unknownSchema) Error() string {
	return fmt.Sprintf("the schema registry has no schema %d", e.id)
}

// attempts is how often a registry that does not answer is asked.
const attempts = 3

// ask sends a request to one address after the other, and again after a moment.
func (r *registry) ask(ctx context.Context, method, path string, body, answer any) (status int, err error) {
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return 0, err
		}
	}
	for n := range attempts {
		for _, u := range r.urls {
			if status, err = r.one(ctx, method, u, path, text, answer); err == nil && status < 500 {
				return status, nil
			}
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
		}
		if n == attempts-1 {
			break
		}
		t := time.NewTimer(200 * time.Millisecond << n)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return 0, ctx.Err()
		}
	}
	if err == nil {
		err = fmt.Errorf("it answers with status %d", status)
	}
	return 0, fmt.Errorf("the schema registry %s cannot be used: %w", r.urls[0].Redacted(), err)
}

func (r *registry) one(ctx context.Context, method string, u *url.URL, path string, body []byte, answer any) (int, error) {
	req, err := http.NewRequestWithContext(ctx, method, u.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return 0, errors.New("the address is wrong")
	}
	req.Header.Set("Accept", "application/vnd.schemaregistry.v1+json, application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/vnd.schemaregistry.v1+json")
	}
	if r.auth != "" {
		req.Header.Set("Authorization", r.auth)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		var e *url.Error
		if errors.As(err, &e) { // it has the address, and what may be in it
			err = e.Err
		}
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return 0, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp.StatusCode, json.Unmarshal(text, answer)
	}
	var problem struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(text, &problem)
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return resp.StatusCode, nil
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return resp.StatusCode, nil
	case resp.StatusCode < 500:
		return resp.StatusCode, &refused{fmt.Sprintf("it answers with status %d: %s", resp.StatusCode, problem.Message)}
	}
	return resp.StatusCode, nil
}

type refused struct{ why string }

func (r *refused) Error() string { return r.why }

func (r *registry) login(status int) error {
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		option := "'avro-confluent.basic-auth.user-info'"
		if strings.HasPrefix(r.auth, "Bearer ") {
			option = "'avro-confluent.bearer-auth.token'"
		}
		return fmt.Errorf("the schema registry %s refuses the login: look at %s", r.urls[0].Redacted(), option)
	}
	return nil
}

// schema gets a schema.
func (r *registry) schema(ctx context.Context, id int32) (string, error) {
	var answer struct {
		Schema string `json:"schema"`
		Type   string `json:"schemaType"`
	}
	status, err := r.ask(ctx, http.MethodGet, fmt.Sprintf("schemas/ids/%d", id), nil, &answer)
	switch {
	case err != nil:
		return "", err
	case status == http.StatusNotFound:
		return "", &unknownSchema{id}
	case r.login(status) != nil:
		return "", r.login(status)
	case answer.Type != "" && answer.Type != "AVRO":
		return "", fmt.Errorf("schema %d of the registry is of the type %s, not AVRO", id, answer.Type)
	}
	return answer.Schema, nil
}

// register makes a schema known and returns its id.
func (r *registry) register(ctx context.Context, subject, schema string) (int32, error) {
	var answer struct {
		ID int32 `json:"id"`
	}
	status, err := r.ask(ctx, http.MethodPost, "subjects/"+url.PathEscape(subject)+"/versions", map[string]string{"schema": schema}, &answer)
	switch {
	case err != nil:
		return 0, fmt.Errorf("the schema cannot be registered under '%s': %w", subject, err)
	case r.login(status) != nil:
		return 0, r.login(status)
	case status != http.StatusOK:
		return 0, fmt.Errorf("the schema cannot be registered under '%s': status %d", subject, status)
	}
	return answer.ID, nil
}
