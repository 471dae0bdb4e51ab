// The messages between the main thread and the thread for large requests. They contain only values that can be cloned.

import type {AuditNotes, PlainNotes} from '#src/api/audit.js';
import type {LogFields} from '#src/base/log.js';
import type {AdmissionReport, ChangeReport, ChangeStates} from '#src/observe/flight-recorder.js';
import type {Status} from '#src/api/status.js';
import type {UserInfo} from '#src/api/user.js';
import type {FromStore, ToStore} from '#src/storage/port/messages.js';
import type {MetricSample} from './metrics.js';

/** The data that the thread is started with. */
export interface ThreadStart {
  /** The flags of the API server. */
  readonly args: readonly string[];
  /** `host:port` by which the server is reached. */
  readonly address: string;
  /** Whether changes and decisions are reported. */
  readonly records?: boolean;
}

/** A request in a message. */
export interface PlainRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly user: UserInfo;
  readonly remoteAddress: string;
  readonly body: Uint8Array | undefined;
  /** What the audit events of the request contain; absent if there are none. */
  readonly audit: Pick<AuditNotes, 'level' | 'omitsManagedFields'> | undefined;
}

export interface PlainResponse {
  readonly status: number;
  readonly headers: Record<string, string | string[]>;
  readonly contentType: string | undefined;
  readonly body: Uint8Array;
  readonly outcome?: Status | undefined;
  readonly notes?: PlainNotes | undefined;
}

export type ToThread =
  | {readonly to: 'store'; readonly message: FromStore}
  | {readonly to: 'server'; readonly id: number; readonly request: PlainRequest; readonly verbosity: number}
  | {readonly to: 'caller'; readonly gone: number};

export type FromThread =
  | {readonly from: 'store'; readonly message: ToStore}
  | {readonly from: 'server'; readonly id: number; readonly response: PlainResponse}
  /** A request without a response: its body could not be read, or is of a kind that messages cannot contain. */
  | {readonly from: 'failure'; readonly id: number; readonly status: Status}
  | {
      readonly from: 'log';
      readonly level: 'info' | 'warn' | 'error';
      readonly verbosity: number;
      readonly fields: LogFields;
      readonly message: string;
    }
  | {readonly from: 'change'; readonly report: ChangeReport; readonly states: ChangeStates}
  | {readonly from: 'admission'; readonly report: AdmissionReport}
  | {readonly from: 'metrics'; readonly metrics: readonly MetricSample[]}
  | {readonly from: 'start'; readonly failure?: string};
