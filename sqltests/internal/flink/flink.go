// Package flink asks a real Apache Flink for answers, over the REST interface of its SQL Gateway. Only the generators of
// expected results under sqltests use it; no test needs a Flink.
package flink

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Session is one session of the gateway. It is for one goroutine.
type Session struct {
	gateway string // http://host:port
	path    string // /v3/sessions/<handle>
}

// Result is what a statement gave: the columns of a query and its rows, in order. A nil cell is NULL; other cells are
// printed as Flink's CAST to STRING does.
type Result struct {
	Columns []string
	Rows    [][]*string
}

// Error is a statement that Flink refused or that failed while it ran: the messages of the gateway, stack traces included.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

// Open starts a session on the gateway (such as http://127.0.0.1:8083) with the given configuration.
func Open(gateway string, config map[string]string) (*Session, error) {
	s := &Session{gateway: strings.TrimSuffix(gateway, "/")}
	var reply struct {
		SessionHandle string `json:"sessionHandle"`
	}
	if err := s.call("POST", "/v3/sessions", map[string]any{"properties": config}, &reply); err != nil {
		return nil, fmt.Errorf("opening a session of the Flink gateway at %s: %w", gateway, err)
	}
	s.path = "/v3/sessions/" + reply.SessionHandle
	return s, nil
}

// lacks are signs of a cluster that lacks something.
var lacks = []string{"Insufficient number of network buffers", "NoResourceAvailableException", "Could not acquire the minimum required resources",
	"OutOfMemoryError", "The failure is not recoverable", "TimeoutException"}

// Close ends the session.
func (s *Session) Close() error { return s.call("DELETE", s.path, nil, nil) }

// Run runs one statement to its end. An error of type *Error is Flink's answer; any other means that Flink was not reached.
func (s *Session) Run(statement string) (*Result, error) {
	var op struct {
		OperationHandle string `json:"operationHandle"`
	}
	if err := s.call("POST", s.path+"/statements", map[string]any{"statement": statement}, &op); err != nil {
		return nil, err
	}
	result := &Result{}
	next := s.path + "/operations/" + op.OperationHandle + "/result/0?rowFormat=PLAIN_TEXT"
	for next != "" {
		var page struct {
			ResultType string `json:"resultType"`
			Next       string `json:"nextResultUri"`
			Results    struct {
				Columns []struct {
					Name string `json:"name"`
				} `json:"columns"`
				Data []struct {
					Fields []*string `json:"fields"`
				} `json:"data"`
			} `json:"results"`
		}
		if err := s.call("GET", next, nil, &page); err != nil {
			return nil, err
		}
		next = page.Next
		if page.ResultType == "NOT_READY" {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if result.Columns == nil {
			for _, c := range page.Results.Columns {
				result.Columns = append(result.Columns, c.Name)
			}
		}
		for _, row := range page.Results.Data {
			result.Rows = append(result.Rows, row.Fields)
		}
		if len(page.Results.Data) == 0 && next != "" {
			time.Sleep(5 * time.Millisecond)
		}
	}
	return result, nil
}

// Plans reports whether Flink plans the query, without running it.
func (s *Session) Plans(query string) (bool, error) {
	_, err := s.Run("EXPLAIN " + query)
	var refused *Error
	if errors.As(err, &refused) {
		return false, nil
	}
	return err == nil, err
}

func (s *Session) call(method, path string, body, reply any) error {
	var payload io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		payload = bytes.NewReader(text)
	}
	request, err := http.NewRequest(method, s.gateway+path, payload)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 400 {
		var failure struct {
			Errors []string `json:"errors"`
		}
		if json.Unmarshal(text, &failure) != nil {
			return fmt.Errorf("%s %s: %s: %.200s", method, path, response.Status, text)
		}
		all := strings.Join(failure.Errors, "\n")
		for _, sign := range lacks {
			if strings.Contains(all, sign) {
				return errors.New(all) // says nothing about the statement
			}
		}
		return &Error{Text: all}
	}
	if reply == nil {
		return nil
	}
	return json.Unmarshal(text, reply)
}
