package kafka

import (
	"crypto/tls"
	"os"
	"strings"
	"testing"
)

// TestPropertiesInDocs: the guide names each property that has an effect.
func TestPropertiesInDocs(t *testing.T) {
	b, err := os.ReadFile("../../docs/kafka.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range effective {
		if !strings.Contains(string(b), "| `"+name+"`") && !strings.Contains(string(b), ", `"+name+"`") {
			t.Errorf("docs/kafka.md does not have %s in the table of properties", name)
		}
	}
}

func TestEnabledProtocols(t *testing.T) {
	for list, want := range map[string][2]uint16{
		"TLSv1.2": {tls.VersionTLS12, tls.VersionTLS12}, "TLSv1.3": {tls.VersionTLS13, 0}, "TLSv1.2, TLSv1.3": {tls.VersionTLS12, 0},
	} {
		p := properties{"bootstrap.servers": "b:9093", "security.protocol": "SSL", "ssl.enabled.protocols": list}
		if err := p.check(); err != nil {
			t.Errorf("%s: %v", list, err)
		}
		if c, err := p.tlsConfig(); err != nil || c.MinVersion != want[0] || c.MaxVersion != want[1] {
			t.Errorf("%s: versions %x to %x, %v", list, c.MinVersion, c.MaxVersion, err)
		}
	}
	p := properties{"bootstrap.servers": "b:9093", "ssl.enabled.protocols": "TLSv1.1,TLSv1.2"}
	if err := p.check(); err == nil || !strings.Contains(err.Error(), "TLSv1.2, TLSv1.3") {
		t.Error(err)
	}
}
