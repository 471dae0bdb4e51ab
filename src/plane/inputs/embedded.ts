import type {Interceptor} from '#src/api/faults/interceptor.js';
import type {ObjectKey} from '#src/api/key.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import type {Random} from '#src/base/random.js';
import type {ServedConsole} from '#src/console/served-console.js';
import type {Client} from '#src/operator/client/client.js';
import type {FlightRecorder} from '#src/observe/flight-recorder.js';
import type {FlightRecord} from '#src/recorder/records.js';
import type {Manifest} from '#src/plane/manifests/read.js';
import type {PlaneOptions} from './options.js';

/** A serving certificate for a server on this machine, issued by the plane's CA, and its files. */
export interface ServingPair {
  /** The directory of `tls.crt` and `tls.key`, as webhook servers expect it. */
  readonly directory: string;
  /** The same: a pair is a certificate for `webhooks` of a manager. */
  readonly folder: string;
  /** The certificate and its key, in PEM. */
  readonly certificate: string;
  readonly key: string;
  /** The plane's CA: PEM in base64, as in `caBundle` fields. */
  readonly caBundle: string;
}

export interface ForkPlaneOptions {
  /** Whether the fork opens a port, a free one. By default as the plane does that it is made from. */
  readonly listen?: boolean;
  /**
   * The fork's clock. By default a virtual clock at the time of the snapshot, if the plane's clock is virtual, and
   * otherwise the plane's.
   */
  readonly clock?: Clock;
  /** By default random numbers that continue those of the plane, if it was started with a source that repeats. */
  readonly random?: Random;
  /** Aborts the start. */
  readonly signal?: AbortSignal;
}

/** The state of a plane at one moment. It keeps the keys of the plane until it is disposed of. */
export interface PlaneSnapshot extends Disposable {
  /** The revision of the state: the resource version from which all forks continue. */
  readonly resourceVersion: string;
  /** Starts a plane from the state, as `fork` of a plane does. */
  fork(options?: ForkPlaneOptions): Promise<Plane>;
}

/** A running control plane, for programs that embed it. */
export interface Plane extends AsyncDisposable {
  readonly naming: Naming;
  /** `https://host:port`; empty without a listener. */
  readonly url: string;
  /** The administrator's kubeconfig, as YAML; empty without a listener. */
  readonly kubeconfig: string;
  /** The clock that the plane was started with; the system clock by default. */
  readonly clock: Clock;
  /**
   * A client in this process with the identity of the administrator, or of the given user, and with the user agent
   * `plat` or the given one.
   */
  client(user?: UserInfo, userAgent?: string): Client;
  /**
   * Returns what the flight recorder kept of an object, oldest first: changes with the state of the object, the
   * reconciles of it and those that wrote it, decisions of admission and of the scheduler. Throws a `TypeError` for a
   * plane that does not record.
   */
  history(kind: Kind, key: ObjectKey | string): Promise<readonly FlightRecord[]>;
  /** Where operators report their reconciles (`recorder` of a manager); undefined for a plane that does not record. */
  readonly recorder: FlightRecorder | undefined;
  /**
   * Passes authorized requests for resources through the interceptor until it is disposed of, as `inject` of
   * `@platio/plat/testing` does.
   */
  intercept(interceptor: Interceptor): Disposable;
  /**
   * Applies files or directories of YAML or JSON, or objects, as the field manager `plat`: namespaces and definitions
   * of custom resources first, the rest once those are served. Rejects with an error of one line that names file,
   * document and field. Resolves to the objects in the order they are written.
   */
  apply(manifests: Manifest | readonly Manifest[], options?: Pick<PlaneOptions, 'webhooks'>): Promise<KubeObject[]>;
  /**
   * Serves a page that shows the plane to the administrator, on 127.0.0.1, until it is disposed of or the plane stops.
   * Time on a virtual clock is moved there too.
   */
  console(options?: {readonly port?: number}): Promise<ServedConsole>;
  /** A serving certificate for a webhook on this machine, which the server trusts under localhost and 127.0.0.1. */
  webhookPair(): Promise<ServingPair>;
  /**
   * Keeps the state of this moment, from which any number of planes can be started. Throws a `TypeError` for a plane
   * whose store is not in memory. Writes in progress belong to the state once they are acknowledged.
   */
  snapshot(): PlaneSnapshot;
  /**
   * Starts a second, independent plane from the state of this moment: the same objects, resource versions and history,
   * keys and certificates, options, and time. Resolves once it serves, before its controllers and nodes work: they list
   * anew and continue as after a restart, and a virtual clock waits for them. Throws as `snapshot`.
   */
  fork(options?: ForkPlaneOptions): Promise<Plane>;
  /** Resolves once all controllers and nodes work. Of a plane of `startPlane` it is resolved. */
  readonly ready: Promise<void>;
  /** Rejects if the controllers stop on their own. */
  readonly failed: Promise<never>;
  /** Drains, closes the store and leaves nothing running. */
  stop(): Promise<void>;
}
