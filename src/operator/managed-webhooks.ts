import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import type {MetricsRegistry} from '#src/observe/metrics.js';
import type {Listener} from '#src/serving/listener.js';
import type {OperatorController} from './controller.js';
import type {Webhook} from './webhooks/admission.js';
import type {CertificateSource} from './webhooks/certificates.js';

/** The webhooks of a manager and their server. */
export interface WebhookOptions {
  readonly handlers: readonly Webhook[];
  readonly certificate: CertificateSource;
  /**
   * The DNS names and addresses by which the API server calls the webhooks, such as `backups.backups-system.svc`; for
   * certificates that the manager issues. localhost and its addresses are always included.
   */
  readonly hosts?: readonly string[];
  /**
   * The names of MutatingWebhookConfigurations and ValidatingWebhookConfigurations whose `caBundle` is kept up to date.
   * That of definitions of kinds with conversion is kept up to date, too.
   */
  readonly configurations?: readonly string[];
  /** Default: all addresses. */
  readonly bindAddress?: string;
  /** 0 selects a free port. Default 9443. */
  readonly port?: number;
}

interface ManagedWebhooksParts {
  readonly name: string;
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: MetricsRegistry;
}

/** The grace period for requests in progress at a stop. */
const graceMs = 10_000;

/** The webhooks of one manager, their certificate and their port. What serves them is loaded when it is opened. */
export class ManagedWebhooks {
  /** Resolves to the port number once it is open. */
  readonly port: Promise<number>;
  readonly #options: WebhookOptions;
  readonly #parts: ManagedWebhooksParts;
  #opened: (port: number) => void = () => {};
  #failed: (error: unknown) => void = () => {};
  #listener: Listener | undefined;

  constructor(options: WebhookOptions, parts: ManagedWebhooksParts) {
    this.#options = options;
    this.#parts = parts;
    this.port = new Promise((resolve, reject) => {
      this.#opened = resolve;
      this.#failed = reject;
    });
    this.port.catch(() => {}); // Handled where it is awaited.
  }

  /** Opens the port. Returns the controllers that keep `caBundle` up to date. Rejects with a one-line error. */
  async open(signal: AbortSignal): Promise<OperatorController[]> {
    const {handlers, certificate: source, hosts = [], configurations = [], bindAddress = '', port = 9443} = this.#options;
    const {client, clock, random, log, meter} = this.#parts;
    try {
      const [{caBundleControllers}, {followCertificate, openWebhooks, readCounts}] = await Promise.all([
        import('./ca-bundles.js'),
        import('./webhooks/serving.js'),
      ]);
      const all = ['localhost', '127.0.0.1', '::1', ...hosts];
      const certificate = await followCertificate(source, {client, clock, log, counts: readCounts(meter), hosts: all, signal});
      const {naming} = client;
      this.#listener = await openWebhooks({webhooks: handlers, certificate, bindAddress, port, naming, clock, random, log, meter});
      if (signal.aborted) await this.close(); // The manager was stopped meanwhile.
      log.info({address: this.#listener.address, port: this.#listener.port}, 'serving webhooks');
      this.#opened(this.#listener.port);
      return caBundleControllers({certificate, naming, handlers, configurations});
    } catch (error) {
      this.#failed(error);
      throw error;
    }
  }

  /** Waits for requests in progress and closes the port. */
  async close(): Promise<void> {
    this.#failed(new Error('the manager was stopped'));
    await this.#listener?.close({graceMs});
  }
}
