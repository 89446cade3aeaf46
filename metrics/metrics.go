// Package metrics serves what a weir session knows of its running queries over HTTP: /metrics for Prometheus, /watermarks for people and programs.
package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/weir-sql/weir"
)

// collector asks a session at every scrape.
type collector struct {
	db    *weir.DB
	descs map[string]*prometheus.Desc
	kinds map[string]prometheus.ValueType
}

// Collector returns the metrics of a session (weir.MetricDescs) for a prometheus registry.
func Collector(db *weir.DB) prometheus.Collector {
	c := &collector{db: db, descs: map[string]*prometheus.Desc{}, kinds: map[string]prometheus.ValueType{}}
	for _, d := range weir.MetricDescs() {
		c.descs[d.Name] = prometheus.NewDesc(d.Name, d.Doc, d.Labels, nil)
		c.kinds[d.Name] = prometheus.GaugeValue
		if d.Counter {
			c.kinds[d.Name] = prometheus.CounterValue
		}
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	for _, m := range c.db.Metrics(context.Background()) {
		metric, err := prometheus.NewConstMetric(c.descs[m.Name], c.kinds[m.Name], m.Value, m.Labels...)
		if err != nil {
			metric = prometheus.NewInvalidMetric(c.descs[m.Name], err)
		}
		out <- metric
	}
}

// Handler serves /metrics and /watermarks of a session.
func Handler(db *weir.DB) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(Collector(db), collectors.NewGoCollector())
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /watermarks", func(w http.ResponseWriter, r *http.Request) { watermarks(w, r, db) })
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "weir: /metrics (Prometheus), /watermarks (text, or JSON by Accept)\n")
	})
	return mux
}

// watermarks answers with SHOW WATERMARKS as text, or with the same as JSON where that is asked for.
func watermarks(w http.ResponseWriter, r *http.Request, db *weir.DB) {
	splits := db.Watermarks(r.Context())
	if strings.Contains(r.Header.Get("Accept"), "json") {
		if splits == nil {
			splits = []weir.SplitWatermark{}
		}
		w.Header().Set("Content-Type", "application/json")
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		_ = enc.Encode(splits)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	columns, rows := weir.WatermarkTable(splits)
	for _, row := range append([][]string{columns}, rows...) {
		fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	_ = tw.Flush()
}

// Server is a running HTTP server.
type Server struct {
	http  http.Server
	addr  net.Addr
	ended chan struct{}
	err   error // why it ended
}

// Listen serves a session at an address, host:port or :port (port 0 takes a free one), until Close. An address that cannot be had is an error at once.
func Listen(addr string, db *weir.DB) (*Server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &Server{http: http.Server{Handler: Handler(db), ReadHeaderTimeout: 5 * time.Second}, addr: l.Addr(), ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		s.err = s.http.Serve(l)
	}()
	return s, nil
}

// Addr is where the server listens.
func (s *Server) Addr() net.Addr { return s.addr }

// Close ends the server, and requests that are under way, and waits for its goroutine. It may be called twice.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.ended
	if !errors.Is(s.err, http.ErrServerClosed) {
		return s.err
	}
	return err
}
