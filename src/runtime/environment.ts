import type {Informers} from '#informers/factory.js';
import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Files} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import type {FlightRecorder} from '#src/observe/flight-recorder.js';
import type {Client} from '#src/client/client.js';
import type {QueueLabels} from '#src/queue/queue-metrics.js';
import type {Cloud} from './cloud.js';
import type {DebugPages, Gates} from './controller.js';
import type {TraceSource} from './reconcile-trace.js';

/** The identity of a controller, and its share of the request rate. */
export interface ControllerIdentity {
  readonly controller: string;
  /** Undefined for the identity of the process itself. */
  readonly serviceAccount: string | undefined;
  readonly qpsFactor: number;
  readonly burstFactor: number;
}

/** What all controllers of a process share. */
export interface RuntimeEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  /** Whose labels the metrics of queues have. Default: those of client-go. */
  readonly queueLabels?: QueueLabels;
  /** Traces attempts, if the process has tracing. */
  readonly tracer?: TraceSource;
  readonly naming: Naming;
  readonly options: Readonly<Record<string, unknown>>;
  readonly gates: Gates;
  readonly informers: Informers;
  /** Returns a client for one controller, with rate limits of its own. */
  clientFor(identity: ControllerIdentity): Client | Promise<Client>;
  /** Where reconciles are reported; undefined if they are not. */
  readonly recorder?: FlightRecorder | undefined;
  /** The host in the source of Events. */
  readonly host?: string;
  /** Defaults to the file system. */
  readonly files?: Files;
  /** The PEM bundle that the connection settings trust, if they have one. */
  readonly serverAuthority?: string;
  /** The cloud, if there is one in this process. */
  readonly cloud?: Cloud | undefined;
}

/** A controller that is built and ready to run. */
export interface BuiltController {
  readonly name: string;
  /** Fails by throwing. */
  check(): void | Promise<void>;
  readonly debugPages?: DebugPages | undefined;
  /** Whether its failure ends the manager; otherwise it is run again. */
  readonly isEssential?: boolean;
  /** Resolves once every cache that the controller reads is synced. */
  whenSynced(signal: AbortSignal): Promise<void>;
  /** Runs until the signal aborts; resolves once all work has ended. */
  run(signal: AbortSignal): Promise<void>;
}
