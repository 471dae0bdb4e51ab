import type {Ago} from '#src/api/duration.js';
import type {FieldError} from '#src/api/field-error.js';
import type {Kind} from '#src/api/kinds.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import type {UsageReader} from '#src/api/usage.js';
import type {UserInfo} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import type {Random} from '#src/base/random.js';
import type {Authorizer, UserRules} from '#src/api/authorization.js';
import type {Authentication} from '#src/api/authentication.js';
import type {Reader} from '#src/api/reader.js';
import type {Writer} from '#src/api/writer.js';
import type {TokenClaims} from '#src/pki/keys/token.js';
import type {DescribedSchema} from '#src/schema/openapi/description.js';
import type {AddressPool, PortPool} from './pools.js';

/** What hooks may look at besides the object. */
export interface HookContext {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly user: UserInfo;
  /** Whether a feature gate is on. */
  gate(name: string): boolean;
  /** The version in which the caller speaks of the object. */
  readonly served: Kind;
  /** Tells the caller something, whatever becomes of the request. */
  warn(text: string): void;
  /** Whether containers may be as powerful as their node. */
  readonly allowPrivileged: boolean;
}

/** The part of the server that issues tokens of service accounts. */
export interface TokenIssuer {
  /** Whom tokens are meant for unless the request says otherwise. */
  readonly audiences: readonly string[];
  /** The longest life of a token; 0 for no limit. */
  readonly maxSeconds: number;
  /** Whether tokens that were put into pods outlive what was asked for. */
  readonly extends: boolean;
  /** Adds the issuer and signs. */
  sign(claims: TokenClaims): string;
}

/** What actions act in: they may read and write other objects as the server itself, and ask the server's own judges. */
export interface ActionContext extends HookContext {
  readonly authorizer: Authorizer;
  /** Objects as they are in the store now. */
  readonly reader: Reader;
  readonly writer: Writer;
  /** There only where the server signs tokens. */
  readonly tokens: TokenIssuer | undefined;
  authenticateToken(token: string, audiences: readonly string[]): Promise<Authentication>;
  /** Rules the authorizers can list for a user; `incomplete` when one of them cannot. */
  rulesFor(user: UserInfo, namespace: string): Promise<UserRules>;
  readonly namespace: string;
  /** The name in the URL; empty where the action has no object. */
  readonly name: string;
  readonly dryRun: boolean;
}

/** What allocation acts in: the server's own pools, which a dry run leaves as they are. */
export interface AllocationContext extends HookContext {
  readonly dryRun: boolean;
  readonly addresses: AddressPool;
  readonly nodePorts: PortPool;
  /** Objects as they are in the store now. */
  readonly reader: Reader;
  /** Deletes another object as the server itself. One that is not there is passed over. */
  remove(kind: Kind, namespace: string, name: string): Promise<void>;
}

/** What a write took from the pools. Exactly one of the two is called, once it is known whether the object was stored. */
export interface Allocation {
  commit(): Promise<void>;
  revert(): Promise<void>;
}

/** Whom a write is put before that rules of fields cannot decide on. */
export interface WriteChecks {
  readonly authorizer: Authorizer;
  /** Objects as they are in the store now. */
  readonly reader: Reader;
}

/** The paths that are written: a list of them, or all top-level fields but some. */
export type WrittenPaths = readonly string[] | {readonly allBut: readonly string[]};

/**
 * What a kind has to say of metadata besides what all kinds have in common. A creation is judged by the kind's own rules of names and finalizers, unless
 * it says `common`; an update as an object that is `whole`, as a `change`, as `both`, or by nothing more. What is wrong is told of each time it is found.
 */
export type MetadataValidation = 'common' | 'change' | 'whole' | 'both';

/**
 * How one address of a resource is written. `writes` lists the paths the caller's object is heard on; everything else is carried over from
 * the stored object (on create: left out), and field ownership follows from the same list. Hooks run in this order: default, mutating admission,
 * default again, `prepare`, `validate`, validating admission, store.
 */
export interface Endpoint<T extends KubeObject> {
  readonly verbs?: readonly ('get' | 'update' | 'patch')[];
  readonly writes: {
    readonly create?: WrittenPaths;
    readonly update: WrittenPaths;
    /** What a creation comes to own, where that is less than it writes. */
    readonly owned?: WrittenPaths;
  };
  /** How its metadata is judged. Default `change`. */
  readonly metadata?: MetadataValidation | ((context: HookContext) => MetadataValidation);
  /** Sets what the server owns. May change `object`; never refuses. */
  prepare?(object: T, old: Readonly<T> | undefined, context: HookContext): void;
  /** Says what is wrong. Never changes anything. */
  validate?(object: Readonly<T>, old: Readonly<T> | undefined, context: HookContext): Iterable<FieldError>;
  /** What the server's own judges say against a write, once the object is valid: what rules of fields cannot tell. */
  authorize?(object: Readonly<T>, old: Readonly<T> | undefined, context: HookContext, checks: WriteChecks): Promise<readonly FieldError[]>;
  /** Texts for `Warning` headers. */
  warn?(object: Readonly<T>, old: Readonly<T> | undefined, context: HookContext): Iterable<string>;
  /** Counters that a write adds one to, once it is stored; never for dry runs. */
  counts?(object: Readonly<T>, old: Readonly<T> | undefined, context: HookContext): Iterable<Count>;
  readonly view?: View<T>;
}

/** Another kind that an address shows instead of the object itself, such as the scale of a workload. Writes go through the rules of the main address. */
export interface View<T extends KubeObject, V extends KubeObject = KubeObject> {
  /** The kind that is shown, with the columns of its table. It is never stored. */
  readonly shows: Pick<ResourceDefinition<V>, 'kind' | 'columns'>;
  of(object: Readonly<T>): V;
  /** Sets in the object what was said of it. */
  put(shown: Readonly<V>, object: T): void;
  /** What is wrong with what was said, before it reaches the object. */
  validate?(shown: Readonly<V>): Iterable<FieldError>;
}

/** One more on a counter, made on first use with the label names it comes with. */
export interface Count {
  readonly name: string;
  readonly help: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Something a POST does other than storing its body. */
export interface Action<In extends KubeObject = KubeObject> {
  /** The kind it accepts and answers with; its group and version show in discovery. */
  readonly kind: Kind<In>;
  /** Further versions of its group in which it is accepted, spelled the same. */
  readonly otherVersions?: readonly string[];
  /** What the server must have for the action to be there at all. */
  readonly needs?: 'tokens';
  /** Fills in what was not said, before admission sees it. */
  default?(object: In): void;
  validate?(object: Readonly<In>, context: ActionContext): Iterable<FieldError>;
  /** Resolves to the object to answer with (201). */
  run(object: In, context: ActionContext): Promise<KubeObject>;
}

/** What a request that is passed on to a node, or to what runs there, looks like. */
export interface ConnectContext {
  readonly namespace: string;
  readonly name: string;
  /** The options of the query, read as the passage declares them. What was not said is absent. */
  readonly options: ConnectOptions;
  /** Which addresses of a node lead to its agent, best first. */
  readonly agentAddresses: readonly string[];
  readonly reader: Reader;
  readonly random: Random;
  /** The addresses of a host by name. Rejects with why it has none. */
  resolve(host: string): Promise<readonly string[]>;
  gate(name: string): boolean;
}

export type ConnectOptions = Readonly<Record<string, string | number | boolean | readonly string[] | readonly number[]>>;

/** One option of a passage's query. Lists take the parameter several times; that of ports also takes commas. */
export interface ConnectOption {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'time' | 'strings' | 'ports';
  readonly description: string;
}

/** Where a passage leads. */
export interface ConnectDestination {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  /** The addresses of the host that were checked: connections go to these, and to no other that the name stands for a moment later. */
  readonly addresses?: readonly string[];
  readonly port: string;
  /** Path and query there; of calls that are relayed what stands before the caller's own. */
  readonly path: string;
  /** Whether the agent of a node listens there, to which the server has to prove itself. */
  readonly agent: boolean;
}

/** An address behind which something other than this server answers. */
export interface ConnectSubresource {
  /** What discovery tells of it. */
  readonly kind: Kind;
  readonly verbs: readonly ('get' | 'create' | 'update' | 'patch' | 'delete')[];
  /** How the caller and the other end talk: he is given a text to read, the connection speaks another protocol, or calls go through one by one, with the paths below. */
  readonly mode: 'text' | 'stream' | 'calls';
  /** The kind of the options, and which there are. */
  readonly options: {readonly kind: string; readonly fields: readonly ConnectOption[]};
  /** Says what is wrong with the options. */
  validate?(options: ConnectOptions, context: Pick<ConnectContext, 'gate'>): Iterable<FieldError>;
  /** Finds the other end; nothing when there is nobody to ask yet (204). Throws the Status of a refusal. */
  locate(connection: ConnectContext): Promise<ConnectDestination | undefined>;
}

/** How another part of the control plane is. */
export interface ComponentHealth {
  readonly name: string;
  /** Absent where it cannot be told. */
  readonly healthy?: boolean;
  /** What it said. */
  readonly message: string;
  /** Why it could not be asked. */
  readonly error?: string;
}

/** What kinds that are made up when they are read may ask. */
export interface VirtualContext {
  readonly naming: Naming;
  /** Ms since the epoch. */
  readonly now: number;
  /** The namespace in the URL; empty for all of them, and for kinds without. */
  readonly namespace: string;
  /** Where figures of use come from, on servers that have them. */
  readonly usage: UsageReader | undefined;
  components(): Promise<readonly ComponentHealth[]>;
}

/** A kind that is made up when it is read. */
export interface Virtual<T extends KubeObject> {
  list(context: VirtualContext): Promise<readonly T[]>;
  /** Rejects when there is none of that name. */
  get(name: string, context: VirtualContext): Promise<T>;
}

/** One column of the server's table. How long ago something was is told by `ago` alone, as it stands: cells are kept while time goes on. */
export interface Column<T> {
  readonly name: string;
  readonly type?: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly format?: string;
  readonly description: string;
  /** 1 shows it in the wide form only. */
  readonly priority?: number;
  /** Rows have its cell, but no definition tells of it. */
  readonly isUndeclared?: true;
  of(object: Readonly<T>, ago: Ago, naming: Naming): string | number | boolean | null;
}

/** A mark on a row of a table (the API reference, meta/v1 TableRowCondition). */
export interface RowCondition {
  readonly type: 'Completed';
  readonly status: 'True';
  readonly reason: string;
  readonly message: string;
}

/** A version (or second group) of a resource that is served beside the hub. */
export interface ServedVersion<Hub extends KubeObject> {
  readonly kind: Kind;
  /** Both mutate nothing; `fromHub(toHub(x))` loses nothing. */
  toHub(object: KubeObject, naming: Naming): Hub;
  fromHub(hub: Readonly<Hub>, naming: Naming): KubeObject;
  readonly selectableFields?: Readonly<Record<string, (object: Readonly<Hub>) => string>>;
  deprecation?(naming: Naming): string;
  default?(object: KubeObject, context: HookContext): void;
  /** What writes through this version must meet besides the hub's own rules. */
  validate?(object: Readonly<Hub>, old: Readonly<Hub> | undefined, context: HookContext): Iterable<FieldError>;
}

/** Everything the server does with a kind follows from this one value. */
export interface ResourceDefinition<T extends KubeObject = KubeObject> {
  /** The hub: the version that is stored. */
  readonly kind: Kind<T>;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /** Where it lies in the store below the prefix; its plural unless given. */
  readonly storedAs?: string;
  /** Whether it lies below its group, as kinds do that came with servers of their own. */
  readonly storedUnderGroup?: boolean;
  readonly otherVersions?: readonly ServedVersion<T>[];
  /** What every request is warned of, when the kind is on its way out. */
  deprecation?(naming: Naming): string;
  /** Why a name is not allowed; `prefix` when a generateName is judged. Nothing for a good one. */
  nameProblems(name: string, prefix: boolean, context?: Pick<HookContext, 'gate'>): readonly string[];
  /** Loads what must be there before an object can be judged; nothing where all is. Called before every write, when nothing but judging is left. */
  ready?(object: Readonly<T>): Promise<void> | undefined;
  /** Fills in what the caller left out. Runs on every write and read of the hub version. */
  default?(object: T, context: Pick<HookContext, 'naming' | 'gate'>): void;
  /** Takes what the object needs from the server's pools, before `prepare` on the main address. May change `object`; throws the Status of a refusal. */
  allocate?(object: T, old: Readonly<T> | undefined, context: AllocationContext): Promise<Allocation>;
  /** Gives back what an object held, once it is removed. */
  released?(object: Readonly<T>, context: AllocationContext): Promise<void>;
  readonly main: Endpoint<T>;
  readonly subresources?: Readonly<Record<string, Endpoint<T>>>;
  /** What POST does at subresources that store nothing of their own. */
  readonly actions?: Readonly<Record<string, Action>>;
  /** Addresses that are passed on to nodes and what runs there. */
  readonly connectSubresources?: Readonly<Record<string, ConnectSubresource>>;
  /** Set for kinds that are never stored: POST on the collection runs it. */
  readonly review?: Action<T>;
  /** Set for kinds that are made up when they are read: get and list are all there is. */
  readonly virtual?: Virtual<T>;
  /** What the server must have for the kind to be there at all; then it is served in every version, whatever else is asked for. */
  readonly needs?: 'usage';
  /** What discovery tells can be done, where that is not told as of every stored kind. */
  readonly verbs?: readonly string[];
  /** The version discovery tells is stored, where that is another than the hub. */
  readonly storedKind?: Kind;
  /** Whether the version that is stored is served nowhere: then discovery does not tell of it. */
  readonly storageVersionUnserved?: boolean;
  /** Why no object may be created just now, in whatever way. */
  readonly refusesCreation?: string;
  /** Set for kinds that are defined while the server runs: items of lists say what they are, patches by directives are not offered (415). */
  readonly custom?: boolean;
  /** What documents say of the objects of such a kind; the same each time it is asked for. */
  readonly described?: () => DescribedSchema;
  /** Verbs of stored kinds that this one does not have. */
  readonly excludedVerbs?: readonly 'deletecollection'[];
  /** PUT on a missing object creates it. */
  readonly createOnUpdate?: boolean;
  /** Whether PUT may leave out metadata.resourceVersion. Default true. */
  readonly unconditionalUpdate?: boolean;
  /** Whether finalizers need neither be known nor say whose they are. */
  readonly anyFinalizers?: boolean;
  /** Whether metadata.generation counts changes outside metadata and status, or which changes it counts. */
  readonly generation?: boolean | ((object: Readonly<T>, old: Readonly<T>) => boolean);
  /** Whether it counts what a writer changes even where `prepare` takes that out again. */
  readonly generationCountsUnprepared?: boolean;
  /**
   * What DELETE answers with when it removed the object. Default `status`. While something still holds the object both answer with the object;
   * `statusAlways` answers with a Status then too (202), and from the collection as well.
   */
  readonly deleteResponse?: 'object' | 'status' | 'statusAlways';
  /** What becomes of dependents unless the caller says so. `unsupported` keeps the garbage collector's finalizers off. Default `background`. */
  readonly defaultPropagation?: 'background' | 'orphan' | 'unsupported';
  /** What a deletion is warned of that does not say what becomes of dependents. */
  readonly missingPropagationWarning?: string;
  /**
   * How many seconds an object is given to end by itself once it is deleted; 0 removes it at once. `asked` is the caller's wish. An object that is
   * ending can be given less time, never more.
   */
  gracePeriod?(object: Readonly<T>, requestedSeconds: number | undefined): number;
  /** Whether its objects are kept by `beginDelete` at first, and go once others have done their part. */
  readonly deletesInPhases?: boolean;
  /** Steps in before an object is removed: true keeps it (after changing it). Namespaces finalize this way. */
  beginDelete?(object: T, context: HookContext): 'remove' | 'keep' | {readonly conflict: string} | {readonly forbidden: string};
  /** Whether nothing holds the object any more besides metadata.finalizers. */
  mayRemove?(object: Readonly<T>): boolean;
  /** Seconds a record lives, if it does not live for ever. */
  ttlSeconds?(object: Readonly<T>, settings: {readonly eventTtlSeconds: number}): number | undefined;
  /** How a field is refused that objects cannot be selected by, where that is not `label` for a kind with selectable fields of its own and `metadata` for one without. */
  readonly unknownFieldMessage?: 'metadata' | 'label' | 'kind' | 'quoted';
  /** Besides metadata.name and metadata.namespace. */
  readonly selectableFields?: Readonly<Record<string, (object: Readonly<T>) => string>>;
  readonly columns?: readonly Column<T>[];
  /** What the row of an object in a table is marked with, for example that it is over. */
  rowConditions?(object: Readonly<T>): readonly RowCondition[] | undefined;
  /** Annotations that stand for fields of an older version: whole objects show them, tables and partial objects do not. */
  readonly derivedAnnotations?: readonly string[];
  /** Fields that are stored and shown even when empty, for example `status: {}`. */
  readonly alwaysPresent?: Readonly<Record<string, unknown>>;
  /** Puts back into an object what the binary form leaves out, besides. */
  restore?(object: T): void;
}

/** Keeps the type of the kind while the definition is written down, then lets it stand among others. */
export const defineResource = <T extends KubeObject>(definition: ResourceDefinition<T>): ResourceDefinition => definition as unknown as ResourceDefinition;
