import type {Kind} from '#src/api/kinds/index.js';
import type {UserInfo} from '#src/api/user.js';
import type {AdmissionAttributes, OriginalRequest} from '#src/apiserver/admission/admission.js';

/** The user and the options of a write. */
export interface WriteContext {
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** The version and resource in the request's URL, for admission. */
  readonly served: Kind;
  /** The field manager; may be empty. */
  readonly manager: string;
  /** Absent for writes of the server itself. */
  readonly original?: OriginalRequest | undefined;
  readonly ofCollection?: boolean;
  /** Whether admission is skipped, because it ran for the request that this write is part of. */
  readonly isAdmitted?: boolean;
  /** Whether the managed fields of the object are already computed, as for an apply. */
  readonly isOwnershipRecorded?: boolean;
  warn(text: string): void;
  /** Annotates the request's audit event; absent if there is none. */
  readonly annotate?: AdmissionAttributes['annotate'] | undefined;
}
