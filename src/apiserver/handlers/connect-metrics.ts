import type {Naming} from '#src/api/naming.js';
import type {Counter, Meter} from '#src/base/meter.js';

/** The metrics of connections to nodes, with upstream's names. */
export class ConnectMetrics {
  readonly #translated: Counter;
  readonly #tunnelled: Counter;
  readonly #backends: Counter;
  readonly #tlsFailures: Counter;

  constructor(meter: Meter, {prefix, agent}: Naming) {
    this.#translated = meter.counter({
      name: 'apiserver_stream_translator_requests_total',
      help: 'Total number of requests that were handled by the StreamTranslatorProxy, which processes streaming RemoteCommand/V5',
      labels: ['code'],
    });
    this.#tunnelled = meter.counter({
      name: 'apiserver_stream_tunnel_requests_total',
      help: 'Total number of requests that were handled by the StreamTunnelProxy, which processes streaming PortForward/V2',
      labels: ['code'],
    });
    this.#backends = meter.counter({
      name: `${prefix}_apiserver_pod_logs_insecure_backend_total`,
      help: 'Total number of requests for pods/logs sliced by usage type: enforce_tls, skip_tls_allowed, skip_tls_denied',
      labels: ['usage'],
    });
    this.#tlsFailures = meter.counter({
      name: `${prefix}_apiserver_pod_logs_backend_tls_failure_total`,
      help: `Total number of requests for pods/logs that failed due to ${agent} server TLS verification`,
    });
  }

  /** Records a remote command translated between a WebSocket client and a SPDY agent. */
  translated(code: number): void {
    this.#translated.add({code: String(code)});
  }

  tunnelled(code: number): void {
    this.#tunnelled.add({code: String(code)});
  }

  /** Records a request for a log, with or without verification of the agent's certificate. */
  logRequested(isUnverified: boolean): void {
    this.#backends.add({usage: isUnverified ? 'skip_tls_allowed' : 'enforce_tls'});
  }

  logFailed({message}: Error): void {
    if (message.includes('x509:')) this.#tlsFailures.add();
  }
}
