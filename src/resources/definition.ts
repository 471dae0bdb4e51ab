import type {Ago} from '#src/api/duration.js';
import type {Findings} from '#src/api/collect-errors.js';
import type {FieldError} from '#src/api/field-error.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject, ObjectMeta} from '#src/api/types.js';
import type {UsageReader} from '#src/api/node/usage.js';
import type {UserInfo} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import type {Random} from '#src/base/random.js';
import type {Authorizer, UserRules} from '#src/api/authorization.js';
import type {Authentication} from '#src/api/authentication.js';
import type {Reader} from '#src/api/reader.js';
import type {Writer} from '#src/api/writer.js';
import type {TokenClaims} from '#src/pki/keys/token.js';
import type {DescribedSchema} from '#src/schema/openapi/description.js';
import type {Reservation} from './pools.js';

// The definition of a kind and the contexts of its hooks. A write runs: default, mutating admission, default, allocate,
// `prepare`, `validate`, `authorize`, `warn`, validating admission, store, `counts`. Definitions have no state;
// everything they need comes with the context.

/** The context of a kind's hooks. */
export interface HookContext {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly user: UserInfo;
  /** Reports whether a feature gate is on. */
  gate(name: string): boolean;
  /** The version the client uses. */
  readonly served: Kind;
  /** Adds a `Warning` header, whatever the outcome of the request. */
  warn(text: string): void;
  /** Whether privileged containers are allowed. */
  readonly allowPrivileged: boolean;
}

/** Issues tokens of service accounts. */
export interface TokenIssuer {
  /** The default audiences. */
  readonly audiences: readonly string[];
  /** The maximum lifetime of a token; 0 for no limit. */
  readonly maxSeconds: number;
  /** Whether tokens of pods live longer than requested. */
  readonly extends: boolean;
  /** The lifetime of those tokens; undefined for a year. */
  readonly extendedSeconds?: number | undefined;
  /** Adds the issuer and signs the claims. Rejects if an external signer does. */
  sign(claims: TokenClaims): string | Promise<string>;
}

/**
 * The context of actions, which may read and write other objects as the server and call its authorizer and
 * authenticators.
 */
export interface ActionContext extends HookContext {
  readonly authorizer: Authorizer;
  /** Reads the store, not the cache. */
  readonly reader: Reader;
  readonly writer: Writer;
  /** Undefined unless the server signs tokens. */
  readonly tokens: TokenIssuer | undefined;
  authenticateToken(token: string, audiences: readonly string[]): Promise<Authentication>;
  /** Returns the rules of a user that the authorizers can list; `incomplete` if one of them cannot. */
  rulesFor(user: UserInfo, namespace: string): Promise<UserRules>;
  readonly namespace: string;
  /** The name in the URL; empty for actions without one. */
  readonly name: string;
  readonly dryRun: boolean;
}

/** The context of allocation from the server's pools. */
export interface AllocationContext extends HookContext {
  readonly reservation: Reservation;
  /** Reads the store, not the cache. */
  readonly reader: Reader;
}

/** The context of the release of what a removed object held. */
export interface ReleaseContext {
  readonly reservation: Reservation;
  /** Deletes another object as the server. A missing one is ignored. */
  remove(kind: Kind, namespace: string, name: string): Promise<void>;
}

/** What `authorize` hooks may use. */
export interface WriteChecks {
  readonly authorizer: Authorizer;
  /** Reads the store, not the cache. */
  readonly reader: Reader;
}

/** The paths that are written: a list, or all top-level fields with exceptions. */
export type WrittenPaths = readonly string[] | {readonly allBut: readonly string[]};

/**
 * How a kind validates metadata beyond the common rules. A creation is validated by the kind's rules for names and
 * finalizers, unless it is `common`; an update as an object (`whole`; `twice` for two times), as a `change`, as `both`,
 * or not further (`common`). An error found twice is reported twice.
 */
export type MetadataValidation = 'common' | 'change' | 'whole' | 'twice' | 'both';

/**
 * How one endpoint of a resource is written. `writes` lists the paths taken from the client's object; everything else
 * is copied from the stored object (on create: dropped), and field ownership follows the same list. Hooks run in this
 * order: default, mutating admission, default again, `prepare`, `validate`, validating admission, store.
 */
export interface Endpoint<T extends KubeObject> {
  readonly verbs?: readonly ('get' | 'update' | 'patch')[];
  readonly writes: {
    readonly create?: WrittenPaths;
    readonly update: WrittenPaths;
    /** The paths that a creation comes to own, or any write of a view, if fewer than it writes. */
    readonly owned?: WrittenPaths;
  };
  /** Set if the endpoint has no tables: a request that accepts a table or the object gets the object. */
  readonly hasNoTable?: true;
  /** How metadata is validated. Default `change`. */
  readonly metadata?: MetadataValidation | ((context: HookContext) => MetadataValidation);
  /** Sets the fields that the server owns. May change `object`; never rejects. */
  prepare?(object: T, old: Readonly<T> | undefined, context: HookContext): void;
  /** Reports errors. Never changes anything. */
  validate?(object: Readonly<T>, old: Readonly<T> | undefined, context: HookContext): Findings;
  /** Checks that need the authorizer or other objects, once the object is valid. */
  authorize?(object: Readonly<T>, old: Readonly<T> | undefined, context: HookContext, checks: WriteChecks): Promise<readonly FieldError[]>;
  /** Yields the texts of `Warning` headers. */
  warn?(object: Readonly<T>, old: Readonly<T> | undefined, context: HookContext): Iterable<string>;
  /** Yields the counters to increment once the write is stored; not called for dry runs. */
  counts?(object: Readonly<T>, old: Readonly<T> | undefined, context: HookContext): Iterable<Count>;
  readonly view?: View<T>;
}

/**
 * Another kind that an endpoint shows instead of the object, such as the scale of a workload. Writes follow the rules
 * of the main endpoint.
 */
export interface View<T extends KubeObject, V extends KubeObject = KubeObject> {
  /** The kind that is shown, with its table columns. It is never stored. */
  readonly shows: Required<Pick<ResourceDefinition<V>, 'kind' | 'presentation'>>;
  of(object: Readonly<T>): V;
  /** Throws if the object has no value that a read could show; a write sets it. */
  checkShown?(object: Readonly<T>): void;
  /** Returns the managed fields of the view's values, by their names in the view. */
  owners(object: Readonly<T>): NonNullable<ObjectMeta['managedFields']>;
  /** Returns whether an applied intent has values of the view; those that it lacks are not copied. */
  sets(intent: Readonly<V>): boolean;
  /** Copies the view's values to the object. */
  put(shown: Readonly<V>, object: T): void;
  /** Validates the view before its values are copied. */
  validate?(shown: Readonly<V>): Iterable<FieldError>;
}

/** An increment of a counter, which is created on first use with these label names. */
export interface Count {
  readonly name: string;
  readonly help: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** What a POST does instead of storing its body. */
export interface Action<In extends KubeObject = KubeObject, Prepared = unknown> {
  /** The kind of request and response; discovery shows its group and version. */
  readonly kind: Kind<In>;
  /** Further accepted versions of its group with the same fields. */
  readonly otherVersions?: readonly string[];
  /** The action exists only on servers that have this. */
  readonly needs?: 'tokens';
  /** Applies defaults before admission. */
  default?(object: In): void;
  validate?(object: Readonly<In>, context: ActionContext): Iterable<FieldError>;
  /**
   * Completes the object between changing and validating admission, and returns what `run` needs of that. Throws the
   * refusals that come before validating admission.
   */
  prepare?(object: In, context: ActionContext): Promise<Prepared>;
  /** Returns the object of the response (201). `prepared` is what `prepare` has returned. */
  run(object: In, context: ActionContext, prepared: Prepared): Promise<KubeObject>;
}

/** The context of a connect request, which is relayed to a node or to what runs there. */
export interface ConnectContext {
  readonly namespace: string;
  readonly name: string;
  /** The parsed query options. Options without a value are absent. */
  readonly options: ConnectOptions;
  /** The address types of a node by which its agent is reached, best first. */
  readonly agentAddresses: readonly string[];
  readonly reader: Reader;
  readonly random: Random;
  /** Resolves a host name. Rejects with the reason if it has no address. */
  resolve(host: string): Promise<readonly string[]>;
  gate(name: string): boolean;
}

export type ConnectOptions = Readonly<Record<string, string | number | boolean | readonly string[] | readonly number[]>>;

/** A query option of a connect subresource. Lists repeat the parameter; ports may also be separated by commas. */
export interface ConnectOption {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'time' | 'strings' | 'ports';
  readonly description: string;
}

/** The destination of a connect request. */
export interface ConnectDestination {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  /**
   * The resolved addresses that were checked: connections go to these only, even if the name resolves differently a
   * moment later.
   */
  readonly addresses?: readonly string[];
  readonly port: string;
  /** The path and query; for relayed calls the prefix of the client's own. */
  readonly path: string;
  /** Whether the destination is a node's agent, to which the server authenticates. */
  readonly agent: boolean;
}

/** A subresource that something other than this server answers. */
export interface ConnectSubresource {
  /** The kind in discovery. */
  readonly kind: Kind;
  readonly verbs: readonly ('get' | 'create' | 'update' | 'patch' | 'delete')[];
  /**
   * How the client is connected: it reads a text, the connection is upgraded, or calls are relayed one by one, with the
   * paths below.
   */
  readonly mode: 'text' | 'stream' | 'calls';
  /** The kind of the options, and the options. */
  readonly options: {readonly kind: string; readonly fields: readonly ConnectOption[]};
  /** Validates the options. */
  validate?(options: ConnectOptions, context: Pick<ConnectContext, 'gate'>): Iterable<FieldError>;
  /** Returns the destination; undefined if there is none yet (204). Throws the Status of a refusal. */
  locate(connection: ConnectContext): Promise<ConnectDestination | undefined>;
}

/** The health of another control plane component. */
export interface ComponentHealth {
  readonly name: string;
  /** Undefined if unknown. */
  readonly healthy?: boolean;
  /** The component's response. */
  readonly message: string;
  /** Why the check failed. */
  readonly error?: string;
}

/** The context of kinds that are computed on read. */
export interface VirtualContext {
  readonly naming: Naming;
  /** ms since the epoch. */
  readonly now: number;
  /** The namespace in the URL; empty for all namespaces and for cluster-scoped kinds. */
  readonly namespace: string;
  /** Reads resource usage; undefined on servers without it. */
  readonly usage: UsageReader | undefined;
  components(): Promise<readonly ComponentHealth[]>;
}

/** A kind that is computed on read. */
export interface Virtual<T extends KubeObject> {
  list(context: VirtualContext): Promise<readonly T[]>;
  /** Rejects if there is no object of that name. */
  get(name: string, context: VirtualContext): Promise<T>;
}

/** A column of the server's tables. Ages must come from `ago` unchanged: cells are cached while time passes. */
export interface Column<T> {
  readonly name: string;
  readonly type?: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly format?: string;
  readonly description: string;
  /** 1 shows the column in the wide form only. */
  readonly priority?: number;
  /** Rows have the cell although the table declares no column for it. */
  readonly isUndeclared?: true;
  of(object: Readonly<T>, ago: Ago, naming: Naming): string | number | boolean | null;
}

/** A condition of a table row (the API reference, meta/v1 TableRowCondition). */
export interface RowCondition {
  readonly type: 'Completed';
  readonly status: 'True';
  readonly reason: string;
  readonly message: string;
}

/** Since when a version is deprecated, by the original's releases. Every request for it gets a warning. */
export interface Deprecation {
  readonly since: string;
  /** The release that removes it. */
  readonly until?: string;
  /** The kind that replaces it, if the original names one. */
  readonly successor?: Kind;
}

/** A version (or second group) of a resource that is served in addition to the hub. */
export interface ServedVersion<Hub extends KubeObject> {
  readonly kind: Kind;
  /** Neither changes its argument; `fromHub(toHub(x))` is lossless. */
  toHub(object: KubeObject, naming: Naming): Hub;
  fromHub(hub: Readonly<Hub>, naming: Naming): KubeObject;
  readonly selectableFields?: Readonly<Record<string, (object: Readonly<Hub>) => string>>;
  readonly deprecation?: Deprecation;
  default?(object: KubeObject, context: HookContext): void;
  /** Validates writes in this version, in addition to the hub's rules. */
  validate?(object: Readonly<Hub>, old: Readonly<Hub> | undefined, context: HookContext): Iterable<FieldError>;
}

/** What discovery lists for a kind. */
export interface DiscoveryNames {
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

/** In which versions, and on which servers, a kind is served. */
export interface Serving<T extends KubeObject> {
  /** Feature gates that must all be enabled for the kind to be served, whatever `--runtime-config` says. */
  readonly gates?: readonly string[];
  /** The kind exists only on servers that have this; then in every version, whatever is enabled. */
  readonly needs?: 'usage';
  /** The versions besides the hub. */
  readonly otherVersions?: readonly ServedVersion<T>[];
  /** Of the hub. */
  readonly deprecation?: Deprecation;
}

/** How the objects of a kind are stored. */
export interface StorageRules<T extends KubeObject> {
  /** The path below the store's prefix; default: the plural. */
  readonly path?: string;
  /** Whether the path has the group, as for kinds that came with servers of their own. */
  readonly isUnderGroup?: boolean;
  /** The stored version in discovery, if it is not the hub. */
  readonly kind?: Kind;
  /** Whether the storage version is not served; discovery then omits it. */
  readonly isVersionUnserved?: boolean;
  /** Fields that are stored and shown even if empty, for example `status: {}`. */
  readonly alwaysPresent?: Readonly<Record<string, unknown>>;
  /** Returns the lifetime of a record in seconds; undefined for no limit. */
  ttlSeconds?(object: Readonly<T>, settings: {readonly eventTtlSeconds: number}): number | undefined;
  /** Restores fields that protobuf omits. */
  restore?(object: T): void;
}

/** Which names and finalizers a kind's objects may have, and what counts as a new generation. */
export interface MetadataRules<T extends KubeObject> {
  /** Returns why a name is not allowed, empty for a valid one; `prefix` if it is a generateName. */
  nameProblems(name: string, prefix: boolean, context?: Pick<HookContext, 'gate'>): readonly string[];
  /** The name of an object with a generateName is that text itself, without a suffix. */
  readonly hasPlainGeneratedNames?: true;
  /** Whether finalizers may have any name. */
  readonly anyFinalizers?: boolean;
  /** Whether metadata.generation counts changes outside of metadata and status, or which changes it counts. */
  readonly generation?: boolean | ((object: Readonly<T>, old: Readonly<T>) => boolean);
  /**
   * Whether the generation also counts what an object of a request gives as empty (`emptiedWithin`), although it is not
   * stored.
   */
  readonly generationCountsEmptied?: (object: Readonly<T>) => boolean;
  /** Whether the generation also counts changes that `prepare` reverts. */
  readonly generationCountsUnprepared?: boolean;
}

/** What PUT may do. */
export interface UpdateRules {
  /** Whether it creates a missing object. */
  readonly createsMissing?: boolean;
  /** Whether it may omit metadata.resourceVersion. Default true. */
  readonly unconditional?: boolean;
}

/** Allocation from the server's pools. */
export interface AllocationHooks<T extends KubeObject> {
  /**
   * Reserves what the object needs, before `prepare` on the main endpoint. May change `object`; throws the Status of a
   * refusal.
   */
  allocate(object: T, old: Readonly<T> | undefined, context: AllocationContext): Promise<void>;
  /** Releases what a removed object held. */
  release?(object: Readonly<T>, context: ReleaseContext): Promise<void>;
}

/** How objects are deleted. */
export interface DeletionRules<T extends KubeObject> {
  /** Whether a collection cannot be deleted by one request. */
  readonly excludesCollection?: true;
  /**
   * The response of DELETE after the object was removed. Default `status`. While finalizers keep the object, both
   * respond with the object; `statusAlways` responds with a Status even then (202), also for the collection.
   */
  readonly response?: 'object' | 'status' | 'statusAlways';
  /**
   * The default propagation policy. `unsupported` never adds the garbage collector's finalizers. Default `background`.
   */
  readonly defaultPropagation?: 'background' | 'orphan' | 'unsupported';
  /** The warning of a deletion without propagation policy. */
  readonly missingPropagationWarning?: string;
  /**
   * Returns the seconds an object gets to terminate after its deletion; 0 removes it immediately. A terminating
   * object's period may be shortened, never extended.
   */
  gracePeriod?(object: Readonly<T>, requestedSeconds: number | undefined): number;
  /** Whether `begin` keeps the objects until other components have finished. */
  readonly hasPhases?: boolean;
  /** Called before an object is removed: `keep` keeps it, after possible changes. Namespaces are finalized this way. */
  begin?(object: T, context: HookContext): 'remove' | 'keep' | {readonly conflict: string} | {readonly forbidden: string};
  /** Reports whether nothing but metadata.finalizers keeps the object. */
  mayRemove?(object: Readonly<T>): boolean;
}

/** What field selectors of a kind may name. */
export interface SelectionRules<T extends KubeObject> {
  /** In addition to metadata.name and metadata.namespace. */
  readonly fields?: Readonly<Record<string, (object: Readonly<T>) => string>>;
  /**
   * The error text for a field that is not selectable; default `label` for kinds with selectable fields of their own
   * and `metadata` for others.
   */
  readonly unknownFieldMessage?: 'metadata' | 'label' | 'kind' | 'quoted';
}

/** How objects are shown in tables and as partial objects. */
export interface Presentation<T extends KubeObject> {
  readonly columns?: readonly Column<T>[];
  /** Compares two objects for the order of their rows in a table; absent if that is the order of the list. */
  compareRows?(a: Readonly<T>, b: Readonly<T>): number;
  /** Returns the conditions of an object's table row, for example that it is finished. */
  rowConditions?(object: Readonly<T>): readonly RowCondition[] | undefined;
  /**
   * Annotations that represent fields of an older version: whole objects show them, tables and partial objects do not.
   */
  readonly derivedAnnotations?: readonly string[];
}

/** What only kinds have that are defined at runtime. */
export interface CustomRules {
  /** The verbs in discovery, in this order. */
  readonly verbs: readonly string[];
  /** The warning of every request for a deprecated version. */
  readonly deprecationWarning?: string;
  /** Why no object can be created currently by any request. */
  readonly refusesCreation?: string;
  /** What documents say about the kind's objects; returns the same value every time. */
  described(): DescribedSchema;
}

/** The one definition of a kind, from which everything the server does with it is derived. */
export interface ResourceDefinition<T extends KubeObject = KubeObject> {
  /** The hub: the stored version. */
  readonly kind: Kind<T>;
  readonly discovery?: DiscoveryNames;
  readonly served?: Serving<T>;
  readonly storage?: StorageRules<T>;
  readonly metadata: MetadataRules<T>;
  readonly update?: UpdateRules;
  /**
   * Loads what validation of the object needs; returns undefined if nothing has to be loaded. Called directly before
   * each validation.
   */
  ready?(object: Readonly<T>): Promise<void> | undefined;
  /** Applies defaults. Runs on every write and read of the hub version. */
  default?(object: T, context: Pick<HookContext, 'naming' | 'gate'>): void;
  readonly allocation?: AllocationHooks<T>;
  readonly main: Endpoint<T>;
  readonly subresources?: Readonly<Record<string, Endpoint<T>>>;
  /** What POST does at subresources that are not stored. */
  readonly actions?: Readonly<Record<string, Action>>;
  /** Subresources that are relayed to nodes and what runs there. */
  readonly connectSubresources?: Readonly<Record<string, ConnectSubresource>>;
  /** Set for kinds that are never stored: a POST to the collection runs it. */
  readonly review?: Action<T>;
  /** Set for kinds that are computed on read, with get and list only. */
  readonly virtual?: Virtual<T>;
  /**
   * Set for kinds defined at runtime: list items have apiVersion and kind, and strategic merge patches are rejected
   * (415).
   */
  readonly custom?: CustomRules;
  readonly deletion?: DeletionRules<T>;
  readonly selection?: SelectionRules<T>;
  readonly presentation?: Presentation<T>;
}

/** Checks a definition with the type of its kind and returns it with the type of the list. */
export const defineResource = <T extends KubeObject>(definition: ResourceDefinition<T>): ResourceDefinition =>
  definition as unknown as ResourceDefinition;
