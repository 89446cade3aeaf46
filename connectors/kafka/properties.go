package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/weir-sql/weir/connectors"
)

// properties are the options that begin with "properties.", without that: the configuration of Kafka's Java client, as Flink passes it through. Values may
// be secrets: no message repeats one that is not known to be harmless.
type properties map[string]string

// Properties that change what the client does. docs/kafka.md lists them.
var effective = []string{
	"bootstrap.servers", "group.id", "client.id", "client.rack", "security.protocol", "sasl.mechanism", "sasl.jaas.config",
	"ssl.truststore.type", "ssl.truststore.location", "ssl.truststore.certificates", "ssl.keystore.type", "ssl.keystore.location",
	"ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.endpoint.identification.algorithm", "ssl.protocol", "ssl.enabled.protocols",
	"fetch.min.bytes", "fetch.max.bytes", "fetch.max.wait.ms", "max.partition.fetch.bytes", "isolation.level", "auto.offset.reset",
	"request.timeout.ms", "metadata.max.age.ms", "connections.max.idle.ms", "socket.connection.setup.timeout.ms", "partition.discovery.interval.ms",
	"compression.type", "compression.gzip.level", "compression.lz4.level", "compression.zstd.level", "linger.ms", "acks", "enable.idempotence",
	"max.request.size", "buffer.memory", "delivery.timeout.ms", "transaction.timeout.ms", "enable.auto.commit", "auto.commit.interval.ms",
	"commit.offsets.on.checkpoint",
}

// Properties of the Java client that mean nothing here: how it works inside, or what Flink sets itself.
var withoutEffect = []string{
	"key.deserializer", "value.deserializer", "key.serializer", "value.serializer", "client.id.prefix", "register.consumer.metrics", "max.poll.records",
	"max.poll.interval.ms", "session.timeout.ms", "batch.size", "heartbeat.interval.ms", "partition.assignment.strategy", "group.instance.id",
	"group.protocol", "group.remote.assignor", "receive.buffer.bytes", "send.buffer.bytes", "reconnect.backoff.ms", "reconnect.backoff.max.ms", "retry.backoff.ms", "retry.backoff.max.ms", "retries", "default.api.timeout.ms",
	"socket.connection.setup.timeout.max.ms", "check.crcs", "client.dns.lookup", "allow.auto.create.topics", "exclude.internal.topics",
	"metrics.num.samples", "metrics.recording.level", "metrics.sample.window.ms", "metric.reporters", "auto.include.jmx.reporter", "enable.metrics.push",
	"max.in.flight.requests.per.connection", "max.block.ms", "metadata.max.idle.ms", "partitioner.ignore.keys", "partitioner.adaptive.partitioning.enable",
	"partitioner.availability.timeout.ms", "ssl.truststore.password", "ssl.keystore.password", "ssl.provider", "ssl.keymanager.algorithm",
	"ssl.trustmanager.algorithm", "ssl.secure.random.implementation", "metadata.recovery.strategy", "metadata.recovery.rebootstrap.trigger.ms",
	"security.providers",
}

// Properties that are refused, with the reason.
var refusedProperties = map[string]string{
	"transactional.id":                   "set 'sink.transactional-id-prefix'",
	"partitioner.class":                  "classes cannot be loaded; set 'sink.partitioner'",
	"interceptor.classes":                "classes cannot be loaded",
	"sasl.login.class":                   "classes cannot be loaded",
	"sasl.login.callback.handler.class":  "classes cannot be loaded",
	"sasl.client.callback.handler.class": "classes cannot be loaded",
	"ssl.engine.factory.class":           "classes cannot be loaded",
	"ssl.key.password":                   "encrypted keys are not supported: give a key in PEM without password (openssl pkcs8 -topk8 -nocrypt)",
	"ssl.cipher.suites":                  "cipher suites cannot be chosen",
	"sasl.kerberos.service.name":         "Kerberos (GSSAPI) is not supported",
}

func propertiesOf(options map[string]string) properties {
	return connectors.FormatOptions(options, "properties")
}

// check validates names and values, as far as no file has to be read.
func (p properties) check() error {
	names := make([]string, 0, len(p))
	for n := range p {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		if why, ok := refusedProperties[n]; ok {
			return fmt.Errorf("option 'properties.%s' is not supported: %s", n, why)
		}
		if !slices.Contains(effective, n) && !slices.Contains(withoutEffect, n) {
			if near := connectors.Nearest(n, append(append([]string{}, effective...), withoutEffect...)); near != "" {
				return fmt.Errorf("unknown option 'properties.%s'; did you mean 'properties.%s'?", n, near)
			}
			return fmt.Errorf("option 'properties.%s' is no property of Kafka's client that is known here", n)
		}
	}
	for _, n := range []string{"fetch.min.bytes", "fetch.max.bytes", "fetch.max.wait.ms", "max.partition.fetch.bytes", "request.timeout.ms",
		"metadata.max.age.ms", "connections.max.idle.ms", "socket.connection.setup.timeout.ms", "linger.ms", "max.request.size", "buffer.memory",
		"delivery.timeout.ms", "transaction.timeout.ms", "auto.commit.interval.ms", "partition.discovery.interval.ms", "compression.gzip.level", "compression.lz4.level",
		"compression.zstd.level"} {
		if v, ok := p[n]; ok {
			if i, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64); err != nil || i > math.MaxInt32 && n != "buffer.memory" || i < 0 && !strings.HasPrefix(n, "compression.") && n != "connections.max.idle.ms" && n != "partition.discovery.interval.ms" {
				return fmt.Errorf("option 'properties.%s': it must be a number that is not negative", n)
			}
		}
	}
	for n, values := range map[string][]string{
		"isolation.level": {"read_committed", "read_uncommitted"}, "auto.offset.reset": {"earliest", "latest", "none"},
		"security.protocol": {"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}, "sasl.mechanism": {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"},
		"compression.type": {"none", "gzip", "snappy", "lz4", "zstd"}, "acks": {"all", "-1", "0", "1"}, "enable.idempotence": {"true", "false"},
		"enable.auto.commit": {"true", "false"}, "commit.offsets.on.checkpoint": {"true", "false"},
		"ssl.endpoint.identification.algorithm": {"", "https"}, "ssl.truststore.type": {"PEM"}, "ssl.keystore.type": {"PEM"},
		"ssl.protocol": {"TLS", "TLSv1.2", "TLSv1.3"},
	} {
		if v, ok := p[n]; ok && !slices.Contains(values, v) && !slices.Contains(values, strings.ToLower(v)) && !slices.Contains(values, strings.ToUpper(v)) {
			hint := ""
			if strings.HasSuffix(n, "store.type") {
				hint = "; keytool and openssl convert other stores to PEM"
			}
			return fmt.Errorf("option 'properties.%s' must be one of %s%s", n, strings.Join(values, ", "), hint)
		}
	}
	if v, ok := p["ssl.enabled.protocols"]; ok {
		for _, name := range strings.Split(v, ",") {
			if name = strings.TrimSpace(name); name != "TLSv1.2" && name != "TLSv1.3" {
				return errors.New("option 'properties.ssl.enabled.protocols' must be a list of TLSv1.2, TLSv1.3")
			}
		}
	}
	if strings.TrimSpace(p["bootstrap.servers"]) == "" {
		return errors.New("the option 'properties.bootstrap.servers' is needed: the address of a broker, host:9092, or several, separated by commas")
	}
	for _, s := range p.seeds() {
		if _, port, err := net.SplitHostPort(s); err != nil || port == "" {
			return fmt.Errorf("option 'properties.bootstrap.servers': '%s' is not host:port", s)
		}
	}
	if strings.EqualFold(p["enable.auto.commit"], "true") && p["group.id"] == "" {
		return errors.New("option 'properties.enable.auto.commit' needs 'properties.group.id': the group whose offsets are committed")
	}
	if p.sasl() {
		if p["sasl.mechanism"] == "" {
			return errors.New("SASL needs the option 'properties.sasl.mechanism': PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 (the Java client's default, GSSAPI, is not supported)")
		}
		if _, _, err := p.login(); err != nil {
			return err
		}
	} else if p["sasl.jaas.config"] != "" {
		return errors.New("option 'properties.sasl.jaas.config' has no effect without 'properties.security.protocol' = 'SASL_SSL' or 'SASL_PLAINTEXT'")
	}
	if !p.tls() && (p["ssl.truststore.location"] != "" || p["ssl.truststore.certificates"] != "" || p["ssl.keystore.location"] != "") {
		return errors.New("the options 'properties.ssl.*' have no effect without 'properties.security.protocol' = 'SSL' or 'SASL_SSL'")
	}
	return nil
}

func (p properties) seeds() []string {
	var out []string
	for _, s := range strings.Split(p["bootstrap.servers"], ",") {
		if s = strings.TrimSpace(s); s != "" {
			if _, rest, ok := strings.Cut(s, "://"); ok { // PLAINTEXT://host:port
				s = rest
			}
			out = append(out, s)
		}
	}
	return out
}

func (p properties) protocol() string { return strings.ToUpper(p["security.protocol"]) }
func (p properties) sasl() bool       { return strings.HasPrefix(p.protocol(), "SASL") }
func (p properties) tls() bool        { return strings.HasSuffix(p.protocol(), "SSL") }

// committed reports whether aborted and open transactions are left out. It is the default here; Flink's, that of the Java client, is read_uncommitted.
func (p properties) committed() bool {
	return !strings.EqualFold(p["isolation.level"], "read_uncommitted")
}

func (p properties) int(name string, def int64) int64 {
	if v, ok := p[name]; ok {
		if n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64); err == nil {
			return n
		}
	}
	return def
}

func (p properties) millis(name string, def time.Duration) time.Duration {
	return time.Duration(p.int(name, def.Milliseconds())) * time.Millisecond
}

var jaasOption = regexp.MustCompile(`(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))`)

// login reads user and password out of sasl.jaas.config. Its errors do not repeat it.
func (p properties) login() (user, password string, err error) {
	const form = `option 'properties.sasl.jaas.config': it must be ...PlainLoginModule (or ScramLoginModule) required username="..." password="...";`
	text := strings.TrimSpace(p["sasl.jaas.config"])
	module, rest, _ := strings.Cut(text, " ")
	want := "ScramLoginModule"
	if strings.EqualFold(p["sasl.mechanism"], "PLAIN") {
		want = "PlainLoginModule"
	}
	if text == "" || !strings.HasSuffix(module, want) {
		return "", "", fmt.Errorf("%s; with the mechanism %s the module is %s", form, strings.ToUpper(p["sasl.mechanism"]), want)
	}
	var haveUser, havePassword bool
	for _, m := range jaasOption.FindAllStringSubmatch(rest, -1) {
		v := m[4]
		if v == "" {
			v = strings.NewReplacer(`\"`, `"`, `\'`, `'`, `\\`, `\`).Replace(m[2] + m[3])
		}
		switch m[1] {
		case "username":
			user, haveUser = v, true
		case "password":
			password, havePassword = v, true
		}
	}
	if !haveUser || !havePassword {
		return "", "", errors.New(form)
	}
	return user, password, nil
}

func (p properties) mechanism() (sasl.Mechanism, error) {
	user, password, err := p.login()
	if err != nil {
		return nil, err
	}
	switch strings.ToUpper(p["sasl.mechanism"]) {
	case "SCRAM-SHA-256":
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism(), nil
	case "SCRAM-SHA-512":
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism(), nil
	}
	return plain.Auth{User: user, Pass: password}.AsMechanism(), nil
}

// pem returns what stands in one option, or in the file that another names.
func (p properties) pem(inline, location string) ([]byte, error) {
	if v := p[inline]; v != "" {
		return []byte(v), nil
	}
	if p[location] == "" {
		return nil, nil
	}
	b, err := os.ReadFile(p[location])
	if err != nil {
		return nil, fmt.Errorf("option 'properties.%s': %w", location, err)
	}
	if !strings.Contains(string(b), "-----BEGIN ") {
		return nil, fmt.Errorf("option 'properties.%s': '%s' is not in PEM; keytool and openssl convert JKS and PKCS12 stores", location, p[location])
	}
	return b, nil
}

func (p properties) tlsConfig() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if p["ssl.protocol"] == "TLSv1.3" {
		c.MinVersion = tls.VersionTLS13
	}
	if v, ok := p["ssl.enabled.protocols"]; ok {
		if !strings.Contains(v, "TLSv1.2") {
			c.MinVersion = tls.VersionTLS13
		}
		if !strings.Contains(v, "TLSv1.3") {
			c.MaxVersion = tls.VersionTLS12
		}
	}
	trust, err := p.pem("ssl.truststore.certificates", "ssl.truststore.location")
	if err != nil {
		return nil, err
	}
	if trust != nil {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(trust) {
			return nil, errors.New("options 'properties.ssl.truststore.*': there is no certificate in PEM that can be read")
		}
	}
	chain, err := p.pem("ssl.keystore.certificate.chain", "ssl.keystore.location")
	if err != nil {
		return nil, err
	}
	if chain != nil {
		key := chain
		if k := p["ssl.keystore.key"]; k != "" {
			key = []byte(k)
		}
		cert, err := tls.X509KeyPair(chain, key)
		if err != nil {
			return nil, errors.New("options 'properties.ssl.keystore.*': certificate and key (PEM, not encrypted) cannot be read or do not belong together")
		}
		c.Certificates = []tls.Certificate{cert}
	}
	if v, ok := p["ssl.endpoint.identification.algorithm"]; ok && v == "" {
		// The certificate is checked, the host's name in it is not.
		roots := c.RootCAs
		c.InsecureSkipVerify = true
		c.VerifyConnection = func(s tls.ConnectionState) error {
			o := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
			for _, cert := range s.PeerCertificates[1:] {
				o.Intermediates.AddCert(cert)
			}
			_, err := s.PeerCertificates[0].Verify(o)
			return err
		}
	}
	return c, nil
}

// client makes a client. What goes wrong between it and the brokers is counted and logged.
func (p properties) client(env *connectors.Env, id string, more ...kgo.Opt) (*kgo.Client, error) {
	opts := []kgo.Opt{
		kgo.SeedBrokers(p.seeds()...), kgo.ClientID(connectors.GetString(p, "client.id", id)), kgo.DialTimeout(p.millis("socket.connection.setup.timeout.ms", 10*time.Second)),
		kgo.MetadataMaxAge(p.millis("metadata.max.age.ms", 5*time.Minute)), kgo.MetadataMinAge(100 * time.Millisecond), kgo.DisableClientMetrics(),
		kgo.RequestTimeoutOverhead(max(p.millis("request.timeout.ms", 30*time.Second), 100*time.Millisecond)),
		kgo.WithHooks(&brokerLog{env: env}),
	}
	if d := p.millis("connections.max.idle.ms", 9*time.Minute); d > 0 {
		opts = append(opts, kgo.ConnIdleTimeout(d))
	}
	if p.tls() {
		c, err := p.tlsConfig()
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.DialTLSConfig(c))
	}
	if p.sasl() {
		m, err := p.mechanism()
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.SASL(m))
	}
	return kgo.NewClient(append(opts, more...)...)
}

// ping makes sure that a broker answers, so that a wrong address or login is an error at once and not a wait without end.
func (p properties) ping(ctx context.Context, cl *kgo.Client) error {
	limit := min(p.millis("request.timeout.ms", 30*time.Second), 15*time.Second)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := cl.Ping(ctx); err != nil {
		return p.unreachable(err)
	}
	return nil
}

func (p properties) unreachable(err error) error {
	return fmt.Errorf("no broker of 'properties.bootstrap.servers' = '%s' can be used: %w", strings.Join(p.seeds(), ","), explain(p, err))
}

// explain adds what can be done to errors of a connection.
func explain(p properties, err error) error {
	text := err.Error()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("it did not answer in time (%w)", err)
	case strings.Contains(text, "SASL_AUTHENTICATION_FAILED"):
		return fmt.Errorf("the login was refused: look at user and password in 'properties.sasl.jaas.config' (%w)", err)
	case strings.Contains(text, "x509:"):
		return fmt.Errorf("its certificate is not trusted: set 'properties.ssl.truststore.location' to a PEM file of the authority (%w)", err)
	case strings.Contains(text, "EOF") || strings.Contains(text, "closed the connection"):
		why := "does it want TLS or a login ('properties.security.protocol')?"
		if p.sasl() {
			why = "the login was refused, or it wants another mechanism or no TLS: look at 'properties.sasl.*' and 'properties.security.protocol'"
		}
		return fmt.Errorf("it closed the connection: %s (%w)", why, err)
	}
	return err
}

// brokerLog counts what fails between the client and brokers, and writes it to the log, at most one line in ten seconds.
type brokerLog struct {
	env    *connectors.Env
	client atomic.Pointer[kgo.Client]
	mu     sync.Mutex
	last   time.Time
}

// OnNewClient implements kgo.HookNewClient.
func (b *brokerLog) OnNewClient(cl *kgo.Client) { b.client.Store(cl) }

// OnBrokerConnect implements kgo.HookBrokerConnect.
func (b *brokerLog) OnBrokerConnect(meta kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	b.failed("cannot connect to a Kafka broker; it is tried again", meta, err)
}

// OnBrokerE2E implements kgo.HookBrokerE2E: a request that was not answered, in time or at all.
func (b *brokerLog) OnBrokerE2E(meta kgo.BrokerMetadata, _ int16, e kgo.BrokerE2E) {
	b.failed("a Kafka broker did not answer; it is asked again", meta, e.Err())
}

func (b *brokerLog) failed(msg string, meta kgo.BrokerMetadata, err error) {
	// What we end ourselves is no failure; what is under way when the client is closed may say that the connection has died.
	if cl := b.client.Load(); cl != nil && cl.Context().Err() != nil {
		return
	}
	// Requests that share the connection of one that was given up, or has failed, are made again on a new one: what went wrong is said by that one.
	if err != nil && strings.Contains(err.Error(), "connection has died and the request will be retried") {
		return
	}
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, net.ErrClosed) || errors.Is(err, kgo.ErrClientClosed) {
		return
	}
	b.env.Count("broker_errors", 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := time.Now(); now.Sub(b.last) > 10*time.Second {
		b.last = now
		b.env.Log.Warn(msg, "broker", net.JoinHostPort(meta.Host, strconv.Itoa(int(meta.Port))), "error", err)
	}
}
