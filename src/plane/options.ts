import type {NamingName} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import type {Manifest} from './manifests/read.js';
import type {LocalWebhooks} from './manifests/webhooks.js';

/** What a plane may be told. Everything has a default: a plane in memory on a free loopback port, with the names that existing clients of Kubernetes use. */
export interface PlaneOptions {
  /** `kubernetes` unless given. A data directory keeps the naming it was first started with. */
  readonly naming?: NamingName;
  /** Where keys, store and connection settings live. Without one the store is in memory and nothing stays behind. */
  readonly dataDir?: string;
  /** Whether to open a port. Without one the plane is reached by `client` alone. */
  readonly listen?: boolean;
  readonly bindAddress?: string;
  /** 0 takes a free one. */
  readonly securePort?: number;
  /** The file to merge the administrator's connection settings into; one of its own in the data directory unless given. */
  readonly kubeconfig?: string;
  /** Whether to take them out of that file again when the plane stops. */
  readonly removeContextOnStop?: boolean;
  /** How many simulated nodes run the pods. None unless given. */
  readonly nodes?: number;
  /** A file of rules by which they and their pods behave. */
  readonly simulationFile?: string;
  /** Whether figures of use are served (`kubectl top`): those of simulated nodes, and those that agents of other nodes tell. With `nodes` unless given. */
  readonly metricsApi?: boolean;
  /** Flags of `plat-apiserver`, `plat-controller-manager` and `plat-scheduler`, as on a command line. */
  readonly apiserverArgs?: readonly string[];
  readonly controllerManagerArgs?: readonly string[];
  readonly schedulerArgs?: readonly string[];
  /** What to apply before the plane is ready, as `apply` does. */
  readonly manifests?: readonly Manifest[];
  /** Where the webhooks of manifests are served while they are tried, on this machine and with `webhookPair`, instead of at the services they name. */
  readonly webhooks?: LocalWebhooks;
  /** Gives the start up at any stage: `startPlane` takes down what it has started and rejects with the signal's reason. Of no effect once the plane is ready. */
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly log?: Log;
  /** Whether cached objects are deeply frozen, so that a test finds who changes them. */
  readonly freeze?: boolean;
}
