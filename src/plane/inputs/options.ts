import type {NamingName} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import type {Manifest} from '#src/plane/manifests/read.js';
import type {LocalWebhooks} from '#src/plane/manifests/webhooks.js';

/** The options of a plane. All have defaults: a plane in memory on a free loopback port, with the kubernetes naming. */
export interface PlaneOptions {
  /** `kubernetes` by default. A data directory keeps the naming it was first started with. */
  readonly naming?: NamingName;
  /** The directory of keys, store and connection settings. Without one the store is in memory and no files remain. */
  readonly dataDir?: string;
  /** Whether to open a port. Without one the plane is only reached by `client`. */
  readonly listen?: boolean;
  readonly bindAddress?: string;
  /** 0 selects a free one. */
  readonly securePort?: number;
  /** The file to merge the administrator's kubeconfig into; by default a separate one in the data directory. */
  readonly kubeconfig?: string;
  /**
   * The name of the plane's cluster and context in a kubeconfig file, `plat` by default. A number is added to a name
   * that another plane has there.
   */
  readonly context?: string;
  /** Whether to remove them from that file when the plane stops. */
  readonly removeContextOnStop?: boolean;
  /** The number of simulated nodes that run the pods. None by default. */
  readonly nodes?: number;
  /** A file of rules for the behaviour of nodes and pods. */
  readonly simulationFile?: string;
  /**
   * Whether the metrics API is served (`kubectl top`): the usage of simulated nodes, and that reported by agents of
   * other nodes. By default with `nodes`.
   */
  readonly metricsApi?: boolean;
  /**
   * Whether nodes can join with bootstrap tokens: the API server authenticates tokens, the signed cluster-info config
   * map is published, and the certificate requests of joining nodes are approved. False by default.
   */
  readonly bootstrapTokens?: boolean;
  /**
   * Whether pods on this machine reach the API server although `bindAddress` is a loopback one: it then also listens at
   * the machine's own address, for connections of this machine and of its pods alone. False by default.
   */
  readonly podAccess?: boolean;
  /**
   * `simulated` for a cloud that gives addresses to services of the type LoadBalancer, routes to nodes, and deletes
   * nodes whose machine is gone. Its configuration and its state are `cloud.yaml` and `cloud.json` in the data
   * directory. None by default.
   */
  readonly cloudProvider?: 'simulated';
  /**
   * The controllers that run, by name or alias: a list of names, `none`, or `all` that are on by default, which is the
   * default. The scheduler is none of them.
   */
  readonly controllers?: 'all' | 'none' | readonly string[];
  /** Flags of `plat-apiserver`, `plat-controller-manager` and `plat-scheduler`, as on a command line. */
  readonly apiserverArgs?: readonly string[];
  readonly controllerManagerArgs?: readonly string[];
  readonly schedulerArgs?: readonly string[];
  /**
   * Whether the start waits until all controllers have filled their caches. Otherwise the plane is ready as soon as new
   * namespaces get what pods need, and the other controllers and the scheduler fill their caches and begin after that.
   * True by default, and on a virtual clock.
   */
  readonly waitForCaches?: boolean;
  /** Manifests to apply before the plane is ready, as `apply` does. */
  readonly manifests?: readonly Manifest[];
  /**
   * The local server of the manifests' webhooks, on this machine and with `webhookPair`, instead of the services they
   * name.
   */
  readonly webhooks?: LocalWebhooks;
  /**
   * Aborts the start at any stage: `startPlane` stops what it has started and rejects with the signal's reason. Has no
   * effect once the plane is ready.
   */
  readonly signal?: AbortSignal;
  /** The bytes of the flight recorder, as a quantity; false for none. Default: `64Mi`. */
  readonly record?: string | false;
  /** The directory in which its records are kept over restarts. Without it they are in memory. A fork's always are. */
  readonly recordDir?: string;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly log?: Log;
  /** Whether cached objects are deeply frozen, so that tests find code that changes them. */
  readonly freeze?: boolean;
}
