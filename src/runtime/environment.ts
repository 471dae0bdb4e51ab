import type {InformerFactory} from '#informers/factory.js';
import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Files} from '#src/base/files.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import type {DebugPages, Gates} from './controller.js';

/** As whom a controller acts, and how much it may ask of the server. */
export interface ControllerIdentity {
  readonly controller: string;
  /** None: as the process itself. */
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
  readonly naming: Naming;
  readonly options: Readonly<Record<string, unknown>>;
  readonly gates: Gates;
  readonly informers: InformerFactory;
  /** A client of its own for each controller, so that their limits do not add up. */
  clientFor(identity: ControllerIdentity): Client | Promise<Client>;
  /** The host that Events are reported from. */
  readonly host?: string;
  /** The machine's files unless given. */
  readonly files?: Files;
  /** The PEM bundle that the connection settings trust, where they carry one. */
  readonly serverAuthority?: string;
}

/** A controller that is built and waits to be run. */
export interface BuiltController {
  readonly name: string;
  /** Fails by throwing. */
  check(): void | Promise<void>;
  readonly debugPages?: DebugPages | undefined;
  /** Resolves once every cache the controller reads is synced. */
  whenSynced(signal: AbortSignal): Promise<void>;
  /** Works until the signal aborts; resolves once all work has ended. */
  run(signal: AbortSignal): Promise<void>;
}
