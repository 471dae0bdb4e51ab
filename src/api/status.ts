import {messageOf} from '#src/base/message.js';

/** One cause in `Status.details.causes`. */
export interface StatusCause {
  reason?: string;
  message?: string;
  field?: string;
}

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}

/** The `Status` object of meta v1 as it is on the wire. */
export interface Status {
  kind: 'Status';
  apiVersion: 'v1';
  metadata: {resourceVersion?: string; continue?: string; remainingItemCount?: number};
  status?: 'Success' | 'Failure';
  message?: string;
  reason?: string;
  details?: StatusDetails;
  code?: number;
}

/** Every reason with its HTTP code (the API reference, meta/v1 StatusReason). */
export const reasons = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Expired: 410,
  Gone: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  ServerTimeout: 500,
  StorageReadError: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
  InsufficientStorage: 507,
} as const;
export type Reason = keyof typeof reasons;

/** An API error: the response is the `Status` it carries. */
export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly status: Status;

  constructor(status: Status, options?: ErrorOptions) {
    super(status.message ?? status.reason ?? 'unknown', options);
    this.status = status;
  }

  get code(): number {
    return this.status.code ?? 500;
  }

  get reason(): string {
    return this.status.reason ?? '';
  }
}

/** The resource of an error; `group` is the name on the wire. */
export interface ResourceRef {
  readonly group: string;
  readonly resource: string;
}

const named = ({group, resource}: ResourceRef): string => (group ? `${resource}.${group}` : resource);

const details = (of: ResourceRef, name?: string): StatusDetails => ({
  ...(name ? {name} : {}),
  ...(of.group ? {group: of.group} : {}),
  kind: of.resource,
});

/** An error of the given reason. The code follows from the reason. */
export const statusError = (
  reason: Reason,
  message: string,
  rest: {details?: StatusDetails; metadata?: Status['metadata']; cause?: unknown} = {},
): StatusError =>
  new StatusError(
    {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: rest.metadata ?? {},
      status: 'Failure',
      message,
      reason,
      ...(rest.details ? {details: rest.details} : {}),
      code: reasons[reason],
    },
    'cause' in rest ? {cause: rest.cause} : undefined,
  );

export const notFound = (of: ResourceRef, name: string): StatusError =>
  statusError('NotFound', `${named(of)} "${name}" not found`, {details: details(of, name)});

export const alreadyExists = (of: ResourceRef, name: string): StatusError =>
  statusError('AlreadyExists', `${named(of)} "${name}" already exists`, {details: details(of, name)});

/** No unique name could be generated from `generateName`. */
export const nameNotGenerated = (of: ResourceRef, name: string): StatusError =>
  statusError('AlreadyExists', `${named(of)} "${name}" already exists, the server was not able to generate a unique name for the object`, {
    details: {...details(of, name), retryAfterSeconds: 1},
  });

/** The cause of every conflict. */
const modifiedMeanwhile = 'the object has been modified; please apply your changes to the latest version and try again';

export const conflict = (of: ResourceRef, name: string, cause: string = modifiedMeanwhile): StatusError =>
  statusError('Conflict', `Operation cannot be fulfilled on ${named(of)} "${name}": ${cause}`, {details: details(of, name)});

export const forbidden = (of: ResourceRef, name: string, cause: string, causes?: StatusCause[]): StatusError =>
  statusError(
    'Forbidden',
    of.resource === ''
      ? `forbidden: ${cause}`
      : name
        ? `${named(of)} "${name}" is forbidden: ${cause}`
        : `${named(of)} is forbidden: ${cause}`,
    {
      details: of.resource === '' ? {} : {...details(of, name), ...(causes ? {causes} : {})},
    },
  );

export const unauthorized = (): StatusError => statusError('Unauthorized', 'Unauthorized');
export const badRequest = (message: string, cause?: unknown): StatusError => statusError('BadRequest', message, {cause});
export const methodNotAllowed = (
  of: ResourceRef,
  action: string,
  message = `${action} is not supported on resources of kind "${named(of)}"`,
): StatusError => statusError('MethodNotAllowed', message, {details: details(of)});
/** A method that an existing path does not support. */
export const methodUnknown = (): StatusError =>
  statusError('MethodNotAllowed', 'the server does not allow this method on the requested resource', {details: {}});
/** An unknown path below a served group. */
export const pathUnknown = (): StatusError => statusError('NotFound', 'the server could not find the requested resource', {details: {}});
export const notAcceptable = (accepted: readonly string[]): StatusError =>
  statusError('NotAcceptable', `406: Not Acceptable\n\nAvailable representations: ${accepted.join(', ')}`, {details: {}});
/** Like `notAcceptable`, for an unsupported `as` parameter. */
export const shapeNotAcceptable = (accepted: readonly string[]): StatusError =>
  statusError('NotAcceptable', `only the following media types are accepted: ${accepted.join(', ')}`);
/** A request for object metadata of a list, or the reverse. `type` is the upstream type name. */
export const shapeMismatch = (shape: string, type: string): StatusError =>
  statusError(
    'NotAcceptable',
    `you requested ${shape}, but the requested object is ${shape.endsWith('List') ? 'not ' : ''}a list (${type})`,
  );
export const unsupportedMediaType = (accepted: readonly string[]): StatusError =>
  statusError(
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );
/** A body of an unsupported media type. */
export const unsupportedMedia = (): StatusError => statusError('UnsupportedMediaType', '415: Unsupported Media Type', {details: {}});
export const entityTooLarge = (message: string): StatusError =>
  statusError('RequestEntityTooLarge', `Request entity too large: ${message}`);
export const expired = (message: string, metadata?: Status['metadata']): StatusError =>
  statusError('Expired', message, metadata ? {metadata} : {});
export const tooManyRequests = (message: string, retryAfterSeconds: number, causes?: StatusCause[]): StatusError =>
  statusError('TooManyRequests', message, {details: {...(retryAfterSeconds ? {retryAfterSeconds} : {}), ...(causes ? {causes} : {})}});
export const timeout = (message: string, retryAfterSeconds = 0, causes?: StatusCause[]): StatusError =>
  statusError('Timeout', `Timeout: ${message}`, {
    details: {...(retryAfterSeconds ? {retryAfterSeconds} : {}), ...(causes ? {causes} : {})},
  });
export const internalError = (cause: unknown): StatusError => {
  const message = messageOf(cause);
  return statusError('InternalError', `Internal error occurred: ${message}`, {details: {causes: [{message}]}, cause});
};
/** An error without an API reason, of a backend or component. */
export const plainFailure = (message: string, cause?: unknown, of?: StatusDetails): StatusError =>
  new StatusError(
    {kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, ...(of ? {details: of} : {}), code: 500},
    {cause},
  );
export const serviceUnavailable = (message: string, retryAfterSeconds = 0): StatusError =>
  statusError('ServiceUnavailable', message, retryAfterSeconds ? {details: {retryAfterSeconds}} : {});

/** A write for which the store has no space. The original has no reason of its own for it. */
export const insufficientStorage = (cause: Error): StatusError =>
  statusError('InsufficientStorage', cause.message, {details: {retryAfterSeconds: 10}, cause});

/** A success without an object. */
export const success = (of?: StatusDetails): Status => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  ...(of ? {details: of} : {}),
});

const has =
  (reason: Reason) =>
  (error: unknown): error is StatusError =>
    error instanceof StatusError && error.status.reason === reason;

/** Returns whether a request failed because there is no such object. */
export const isNotFound = has('NotFound');
/** Returns whether a creation failed because there is an object of that name. */
export const isAlreadyExists = has('AlreadyExists');
/** Returns whether a write failed because the object was changed since it was read, or a field has another manager. */
export const isConflict = has('Conflict');
/** Returns whether a request was refused: by authorization, by admission or by a quota. */
export const isForbidden = has('Forbidden');
export const isInvalid = has('Invalid');
export const isUnauthorized = has('Unauthorized');
/** Returns whether history is compacted: the client must list again. */
export const isGone = (error: unknown): error is StatusError => error instanceof StatusError && error.code === 410;
/** Returns the root causes of an error, through `cause` and aggregates. */
export const originsOf = (error: unknown): readonly unknown[] => {
  if (error instanceof StatusError) return [error];
  if (error instanceof AggregateError) return error.errors.flatMap(originsOf);
  return error instanceof Error && error.cause !== undefined ? originsOf(error.cause) : [error];
};

/**
 * The cause in the error of a read that met a damaged record of this server's store. The original has none of its own.
 */
export const damagedRecordCause = 'DamagedRecord';

/** Returns whether the error has a cause of that reason. */
export const hasCause = (error: unknown, reason: string): boolean =>
  error instanceof StatusError && (error.status.details?.causes ?? []).some(cause => cause.reason === reason);
