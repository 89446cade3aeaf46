package main

import (
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/weir-sql/weir/shell"
)

// brokerCmd runs a Kafka broker in memory.
func (a *app) brokerCmd() *cobra.Command {
	listen := "127.0.0.1:9092"
	var topics []string
	cmd := &cobra.Command{
		Use:   "broker",
		Short: "Run a Kafka broker in memory, for development and examples",
		Long: `Runs a Kafka broker that keeps all in memory and forgets it at the end, until Ctrl-C: for development, examples and tests. It is not for production.

  weir broker --topic clicks:2 --topic orders`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.broker(listen, topics) },
	}
	cmd.Flags().StringVar(&listen, "listen", listen, "address to listen at; port 0 takes a free one")
	cmd.Flags().StringArrayVar(&topics, "topic", nil, "a topic to make, name:partitions (default 1 partition); may be repeated. Others are made when a client asks for that; weir does not")
	return cmd
}

var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`) // at most 249 bytes, too: counted repetition would take a millisecond of each start

func (a *app) broker(listen string, topics []string) error {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return usageError{fmt.Errorf("--listen %s: it must be host:port", listen)}
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return usageError{fmt.Errorf("--listen %s: '%s' is no port", listen, port)}
	} else if host == "" || host == "0.0.0.0" || host == "::" {
		// Clients are told the address that the broker listens at.
		return usageError{fmt.Errorf("--listen %s: name an address that clients can reach, such as 127.0.0.1:%d", listen, n)}
	}
	opts := []kfake.Opt{kfake.NumBrokers(1), kfake.AllowAutoTopicCreation(), kfake.DefaultNumPartitions(1), kfake.Ports(0),
		kfake.ListenFn(func(network, _ string) (net.Listener, error) { return net.Listen(network, listen) })}
	names, seen := []string{}, map[string]bool{}
	for _, t := range topics {
		name, count, ok := strings.Cut(t, ":")
		n := uint64(1)
		if ok {
			if n, err = strconv.ParseUint(count, 10, 16); err != nil || n < 1 || n > 10_000 {
				return usageError{fmt.Errorf("--topic %s: the number of partitions must be between 1 and 10000", t)}
			}
		}
		if len(name) > 249 || !topicName.MatchString(name) {
			return usageError{fmt.Errorf("--topic %s: a topic's name has letters, digits, '.', '_' and '-' only", t)}
		}
		if seen[name] {
			return usageError{fmt.Errorf("--topic %s: the topic is given twice", t)}
		}
		seen[name] = true
		opts = append(opts, kfake.SeedTopics(int32(n), name))
		names = append(names, fmt.Sprintf("%s (%d)", name, n))
	}
	c, err := kfake.NewCluster(opts...)
	if err != nil {
		fmt.Fprintf(a.err, "weir: the broker cannot start: %v\n", err)
		return exitError(shell.ExitFailed)
	}
	defer c.Close()
	stop := a.interruptible()
	defer stop()
	fmt.Fprintf(a.out, "Kafka broker in memory at %s\n", strings.Join(c.ListenAddrs(), ","))
	if len(names) > 0 {
		fmt.Fprintf(a.err, "topics: %s\n", strings.Join(names, ", "))
	}
	<-a.ctx.Done()
	return nil
}
