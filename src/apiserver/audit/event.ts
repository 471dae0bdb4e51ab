// One audit event and its two texts: a line of JSON (version v1 of the group `audit`) and the legacy line. Encoded on
// first use; never changed.

import type {AuditLevel} from '#src/api/audit.js';
import {printedValue} from '#src/api/field-error.js';
import type {Status} from '#src/api/status.js';
import {wireMicroTime} from '#src/api/time.js';
import type {UserInfo} from '#src/api/user.js';
import {jsonText} from '#src/base/json/json.js';
import type {Stage} from './policy.js';
import {quote} from './quoted.js';

/** What is known of a request when it is received; the same for all of its events. */
export interface RequestFacts {
  readonly auditId: string;
  readonly level: AuditLevel;
  /** In ms since the epoch, with fractions. */
  readonly receivedAt: number;
  readonly uri: string;
  readonly verb: string;
  readonly user: UserInfo | undefined;
  readonly sourceAddresses: readonly string[];
  readonly userAgent: string;
}

/** The facts of a request, and the parts of its events' texts that they determine, which are encoded once. */
export class RequestText {
  readonly facts: RequestFacts;
  readonly apiVersion: string;
  #start: string | undefined;
  #rest: string | undefined;
  #received: string | undefined;

  constructor(facts: RequestFacts, apiVersion: string) {
    this.facts = facts;
    this.apiVersion = apiVersion;
  }

  /** The fields before the stage. */
  get start(): string {
    const {level, auditId} = this.facts;
    return (this.#start ??= `${beginningOf(this.apiVersion, level)}${JSON.stringify(auditId)},"stage":"`);
  }

  /** The fields between the stage and the object reference. */
  rest(impersonated: ImpersonatedUser | undefined): string {
    if (impersonated) return restText(this.facts, impersonated);
    return (this.#rest ??= restText(this.facts, undefined));
  }

  get received(): string {
    return (this.#received ??= wireMicroTime(this.facts.receivedAt));
  }
}

/** The object that a request is about. Empty fields are left out. */
export interface ObjectReference {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string | undefined;
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly resourceVersion?: string | undefined;
  readonly subresource: string;
}

/** The response's status code, with the rest of its Status if it carries one. */
export type ResponseStatus = Pick<Status, 'status' | 'message' | 'reason' | 'details'> & {readonly code: number};

/** The user as whom a request is served, and the verb by which constrained impersonation allowed it. */
export interface ImpersonatedUser {
  readonly user: UserInfo;
  readonly constraint: string | undefined;
}

export interface EventFields {
  readonly request: RequestText;
  readonly stage: Stage;
  /** In ms since the epoch, with fractions. */
  readonly at: number;
  readonly impersonated: ImpersonatedUser | undefined;
  readonly object: ObjectReference | undefined;
  readonly status: ResponseStatus | undefined;
  /** Objects as one line of JSON. */
  readonly requestObject: Buffer | undefined;
  readonly responseObject: Buffer | undefined;
  readonly annotations: ReadonlyMap<string, string>;
}

const userText = ({name, uid, groups, extra}: UserInfo): string => {
  const keys = Object.keys(extra ?? {}).sort();
  return jsonText({
    username: name || undefined,
    uid: uid || undefined,
    groups: groups.length > 0 ? groups : undefined,
    extra: keys.length > 0 ? Object.fromEntries(keys.map(key => [key, extra![key]])) : undefined,
  });
};

/** The text of a user, and those of the client that has last acted for it. */
interface UserTexts {
  readonly user: string;
  sourceAddresses: readonly string[];
  userAgent: string;
  client: string;
}

/** Users are the same objects for many requests, and most have one client. */
const userTexts = new WeakMap<UserInfo, UserTexts>();

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((address, index) => address === other[index]);

const textsOf = (user: UserInfo, {sourceAddresses, userAgent}: RequestFacts): UserTexts => {
  let known = userTexts.get(user);
  if (!known) {
    const client = clientText(sourceAddresses, userAgent);
    userTexts.set(user, (known = {user: userText(user), sourceAddresses, userAgent, client}));
  } else if (known.userAgent !== userAgent || !isSame(known.sourceAddresses, sourceAddresses)) {
    Object.assign(known, {sourceAddresses, userAgent, client: clientText(sourceAddresses, userAgent)});
  }
  return known;
};

const clientText = (sourceAddresses: readonly string[], userAgent: string): string => {
  const addresses = sourceAddresses.length > 0 ? `,"sourceIPs":${JSON.stringify(sourceAddresses)}` : '';
  return userAgent === '' ? addresses : `${addresses},"userAgent":${JSON.stringify(userAgent)}`;
};

const referenceText = ({resource, namespace, name, uid, apiGroup, apiVersion, resourceVersion, subresource}: ObjectReference): string => {
  let text = `{"resource":${quote(resource)}`;
  if (namespace) text += `,"namespace":${quote(namespace)}`;
  if (name) text += `,"name":${JSON.stringify(name)}`;
  if (uid) text += `,"uid":${JSON.stringify(uid)}`;
  if (apiGroup) text += `,"apiGroup":${quote(apiGroup)}`;
  if (apiVersion) text += `,"apiVersion":${quote(apiVersion)}`;
  if (resourceVersion) text += `,"resourceVersion":${JSON.stringify(resourceVersion)}`;
  if (subresource) text += `,"subresource":${quote(subresource)}`;
  return `${text}}`;
};

const statusText = ({status, message, reason, details, code}: ResponseStatus): string =>
  status === undefined && message === undefined && reason === undefined && details === undefined
    ? `{"metadata":{},"code":${code}}`
    : jsonText({metadata: {}, status, message: message || undefined, reason: reason || undefined, details, code});

/** Whether the keys are in order already, as those of most requests are. */
const areSorted = (annotations: ReadonlyMap<string, string>): boolean => {
  let last = '';
  for (const key of annotations.keys()) {
    if (key < last) return false;
    last = key;
  }
  return true;
};

const annotationsText = (annotations: ReadonlyMap<string, string>): string => {
  const sorted = areSorted(annotations) ? annotations : [...annotations].sort(([one], [other]) => (one < other ? -1 : 1));
  let text = '';
  for (const [key, value] of sorted) text += `${text === '' ? '' : ','}${quote(key)}:${quote(value)}`;
  return text;
};

const typeText = (apiVersion: string): string => `"kind":"Event","apiVersion":${quote(apiVersion)},`;

/** The fields before the audit id, which are the same for all events of a level. */
const beginnings = new Map<string, Partial<Record<AuditLevel, string>>>();

const beginningOf = (apiVersion: string, level: AuditLevel): string => {
  let known = beginnings.get(apiVersion);
  if (!known) beginnings.set(apiVersion, (known = {}));
  return (known[level] ??= `{${typeText(apiVersion)}"level":"${level}","auditID":`);
};

const restText = (facts: RequestFacts, impersonated: ImpersonatedUser | undefined): string => {
  const {uri, verb, user, sourceAddresses, userAgent} = facts;
  const known = user && textsOf(user, facts);
  let text = `","requestURI":${JSON.stringify(uri)},"verb":${quote(verb)},"user":${known ? known.user : '{}'}`;
  if (impersonated) text += `,"impersonatedUser":${userText(impersonated.user)}`;
  if (impersonated?.constraint) text += `,"authenticationMetadata":${jsonText({impersonationConstraint: impersonated.constraint})}`;
  return text + (known ? known.client : clientText(sourceAddresses, userAgent));
};

/** The text before the objects. */
const headOf = ({request, stage, impersonated, object, status}: EventFields): string => {
  let head = request.start + stage + request.rest(impersonated);
  if (object) head += `,"objectRef":${referenceText(object)}`;
  if (status) head += `,"responseStatus":${statusText(status)}`;
  return head;
};

/** The text after the objects, with the end of the line. */
const tailOf = ({at, request, annotations}: EventFields): string =>
  `,"requestReceivedTimestamp":"${request.received}","stageTimestamp":"${at === request.facts.receivedAt ? request.received : wireMicroTime(at)}"${annotations.size > 0 ? `,"annotations":{${annotationsText(annotations)}}` : ''}}\n`;

/** An audit event. */
export class AuditEvent {
  readonly #fields: EventFields;
  #line: string | undefined;
  #bytes: Buffer | undefined;

  constructor(fields: EventFields) {
    this.#fields = fields;
  }

  get level(): AuditLevel {
    return this.#fields.request.facts.level;
  }

  /** Whether the response waits for the event; it has long been written else when the response is there. */
  get endsRequest(): boolean {
    return this.#fields.stage !== 'RequestReceived';
  }

  /** The event as one line of JSON, with the newline: a text unless it has objects. */
  get line(): string | Buffer {
    const {requestObject, responseObject} = this.#fields;
    if (this.#bytes || requestObject || responseObject) return this.#encoded;
    return (this.#line ??= headOf(this.#fields) + tailOf(this.#fields));
  }

  /** The event in JSON, without the newline. */
  get json(): Buffer {
    return this.#encoded.subarray(0, -1);
  }

  get #encoded(): Buffer {
    return (this.#bytes ??= this.#encode());
  }

  /** The event as an item of a list, which has no kind and apiVersion. */
  get item(): Buffer {
    const item = this.json.subarray(typeText(this.#fields.request.apiVersion).length);
    return Buffer.concat([Buffer.from('{'), item.subarray(1)]);
  }

  /** The event as one line of text, without the newline. */
  get text(): string {
    const {stage, request, impersonated, object, status} = this.#fields;
    const {user, uri, verb, userAgent, auditId, sourceAddresses} = request.facts;
    // Each name is quoted, and then the list once more.
    const list = (names: readonly string[]): string => names.map(name => printedValue(name)).join(',');
    const [name, groups] = user?.name ? [user.name, user.groups.length > 0 ? list(user.groups) : '<none>'] : ['<none>', '<none>'];
    const [as, asGroups] = impersonated ? [impersonated.user.name, list(impersonated.user.groups)] : ['<self>', '<lookup>'];
    const parts = {
      id: auditId,
      stage,
      ip: sourceAddresses[0] ?? '<unknown>',
      method: verb,
      user: name,
      groups,
      as,
      asgroups: asGroups,
      'user-agent': userAgent,
      namespace: object?.namespace || '<none>',
      uri,
      response: status ? String(status.code) : '<deferred>',
    };
    // RFC 3339 with as many decimals as needed.
    const received = request.received.replace(/\.?0*Z$/, 'Z');
    return `${received} AUDIT: ${Object.entries(parts)
      .map(([key, value]) => `${key}=${printedValue(value)}`)
      .join(' ')}`;
  }

  /** The event without its objects, and with an annotation that says so. */
  truncated(annotation: string): AuditEvent {
    const annotations = new Map(this.#fields.annotations).set(annotation, 'true');
    return new AuditEvent({...this.#fields, requestObject: undefined, responseObject: undefined, annotations});
  }

  #encode(): Buffer {
    const {requestObject, responseObject} = this.#fields;
    if (!requestObject && !responseObject) return Buffer.from(this.#line ?? headOf(this.#fields) + tailOf(this.#fields));
    return Buffer.concat([
      Buffer.from(headOf(this.#fields)),
      ...(requestObject ? [Buffer.from(',"requestObject":'), requestObject] : []),
      ...(responseObject ? [Buffer.from(',"responseObject":'), responseObject] : []),
      Buffer.from(tailOf(this.#fields)),
    ]);
  }
}
