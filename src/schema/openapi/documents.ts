import type {Clock} from '#src/base/clock.js';
import {encodedInSteps} from '#src/base/json/json-text-steps.js';
import {jsonText} from '#src/base/json/json.js';
import {runStepsYielding, type Steps} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
import type {Naming} from '#src/api/naming.js';
import type {Schemas} from '#src/schema/builtin/schemas.js';
import {Definitions, openApiV2, openApiV3, type WrittenDefinition} from './definitions.js';
import type {TypeRef} from '#src/schema/node.js';
import type {DescribedGroup, DescribedResource} from './description.js';
import {capitalised, type Json} from './names.js';
import type {Path} from './operation.js';
import {groupVersionPaths, groupVersionRoot, rootPaths} from './operations.js';
import {Packing, type PackedDocument} from './packing.js';
import {definitionMessageInSteps, pathMessage, swaggerMessage} from './swagger-message.js';
import {mediaTypes, pathV2, pathV3, type MediaTypes} from './render.js';

// Builds and caches the OpenAPI documents. A document is built on first request, in steps across turns of the event
// loop, and kept compressed; it is rebuilt only when its own input changed.

export interface OpenApiOptions {
  readonly schemas: Schemas;
  readonly naming: Naming;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Returns what is served, in the order of discovery; called when a document is built. */
  readonly groups: () => readonly DescribedGroup[];
  /** The server's version, for example `v1.35.0`. */
  readonly version: string;
  readonly mediaTypes?: MediaTypes;
  /** Whether fields of built-in types list their values; by default true. */
  readonly enums?: boolean;
}

const security = {BearerToken: {description: 'Bearer Token authentication', in: 'header', name: 'authorization', type: 'apiKey'}};

const sorted = (paths: readonly Path[]): Path[] => paths.toSorted((a, b) => (a.path < b.path ? -1 : 1));

const forEachInSteps = function* <T>(items: readonly T[], act: (item: T) => void): Steps<void> {
  for (const item of items) {
    act(item);
    yield;
  }
};

const writeAll = function* (definitions: Definitions<unknown>): Steps<void> {
  while (yield* definitions.writeOne()) yield;
};

/** Returns a member of a JSON object. */
const member = (name: string, value: unknown): string => `${JSON.stringify(name)}:${jsonText(value)}`;

const memberInSteps = function* (name: string, value: unknown): Steps<string> {
  return `${JSON.stringify(name)}:${(yield* encodedInSteps(value)).toString()}`;
};

type Text = Map<string, WrittenDefinition<string>>;

/** The input of a document. */
interface Source {
  paths(): Path[];
  /** Returns a text that changes when the document would. */
  fingerprint(): string;
  readonly resources: readonly DescribedResource[];
}

interface CachedDocument {
  readonly fingerprint: string;
  readonly document: Promise<PackedDocument>;
}

/** Returns a fingerprint of resources as documents see them: schemas by identity, everything else by content. */
const fingerprinter = (): ((resources: readonly DescribedResource[]) => string) => {
  const numbers = new WeakMap<object, number>();
  let last = 0;
  const numberOf = (value: object | undefined): number => {
    if (value && !numbers.has(value)) numbers.set(value, (last += 1));
    return value ? numbers.get(value)! : 0;
  };
  return resources =>
    JSON.stringify(
      resources.map(({schema, ...resource}) => {
        const {source, preserveUnknownFields, selectableFields} = schema?.() ?? {};
        return [resource, numberOf(source), preserveUnknownFields, selectableFields];
      }),
    );
};

/** Returns a lookup of custom resources by type. */
const customTypes = (resources: readonly DescribedResource[]): ((ref: TypeRef) => DescribedResource | undefined) => {
  const known = new Map<string, DescribedResource>();
  for (const resource of resources) {
    const {group, version, kind, listKind} = resource.kind;
    if (resource.schema) for (const name of [kind, listKind]) known.set(`${group}/${version}.${name}`, resource);
  }
  return ({group, version, name}) => known.get(`${group}/${version}.${name}`);
};

/** The OpenAPI documents of a server. Each is built on first request and cached until its input changes. */
export class OpenApiDocuments {
  readonly #options: OpenApiOptions;
  readonly #media: MediaTypes;
  readonly #pieces: Yielder;
  readonly #fingerprintOf = fingerprinter();
  readonly #v3 = new Map<string, CachedDocument>();
  #served: ReadonlyMap<string, Source> | undefined;
  #index: Promise<PackedDocument> | undefined;
  #v2: Promise<PackedDocument> | undefined;
  #v2Message: Promise<PackedDocument> | undefined;

  constructor(options: OpenApiOptions) {
    this.#options = options;
    this.#media = options.mediaTypes ?? mediaTypes(options.naming, false);
    this.#pieces = new Yielder(options.clock);
  }

  /** Called when the served resources changed. Documents whose input changed are rebuilt on the next request. */
  invalidate(): void {
    this.#served = undefined;
    this.#index = undefined;
    this.#v2 = undefined;
    this.#v2Message = undefined;
  }

  /** Returns `/openapi/v3`: the location of each document with its hash. Builds all of them. */
  index(): Promise<PackedDocument> {
    return (this.#index ??= this.#makeIndex());
  }

  async #makeIndex(): Promise<PackedDocument> {
    const text: Text = new Map(); // Most types are in many documents.
    const paths: Json = {};
    for (const name of [...this.#sources().keys()].sort()) {
      const document = await this.#document(name, text);
      if (document) paths[name] = {serverRelativeURL: `/openapi/v3/${name}?hash=${document.hash}`};
    }
    return Packing.whole(Buffer.from(JSON.stringify({paths})));
  }

  /** Returns the document of `api/v1`, `apis/<group>/<version>` and their parents; undefined if there is none. */
  document(name: string): Promise<PackedDocument> | undefined {
    return this.#document(name, new Map());
  }

  #document(name: string, text: Text): Promise<PackedDocument> | undefined {
    const source = this.#sources().get(name);
    if (!source) return undefined;
    const known = this.#v3.get(name);
    const fingerprint = source.fingerprint();
    if (known?.fingerprint === fingerprint) return known.document;
    const document = this.#versionThree(source.paths(), text, source.resources);
    this.#v3.set(name, {fingerprint, document});
    return document;
  }

  /** Returns `/openapi/v2`: everything in one document. */
  swagger(): Promise<PackedDocument> {
    return (this.#v2 ??= this.#versionTwo());
  }

  /** Returns the same document in its protobuf encoding. */
  swaggerMessage(): Promise<PackedDocument> {
    return (this.#v2Message ??= this.#versionTwoMessage());
  }

  #sources(): ReadonlyMap<string, Source> {
    return (this.#served ??= this.#readSources());
  }

  #readSources(): ReadonlyMap<string, Source> {
    const {naming, groups} = this.#options;
    const served = groups();
    const roots = [...rootPaths(naming, served)].map(([name, path]): [string, Source] => [
      name,
      {paths: () => [path], fingerprint: () => '', resources: []},
    ]);
    const versions = served.flatMap(({group, versions}) =>
      versions.map(({version, resources}): [string, Source] => [
        groupVersionRoot(naming, group, version).slice(1),
        {paths: () => groupVersionPaths(naming, group, version, resources), fingerprint: () => this.#fingerprintOf(resources), resources},
      ]),
    );
    const sources = new Map([...roots, ...versions]);
    for (const name of this.#v3.keys()) if (!sources.has(name)) this.#v3.delete(name);
    return sources;
  }

  #info(): Json {
    return {title: capitalised(this.#options.naming.self), version: this.#options.version};
  }

  async #versionThree(paths: readonly Path[], text: Text, resources: readonly DescribedResource[]): Promise<PackedDocument> {
    const {schemas, naming, enums = true} = this.#options;
    const definitions = new Definitions({
      schemas,
      naming,
      enums,
      dialect: openApiV3,
      custom: customTypes(resources),
      write: memberInSteps,
      written: text,
    });
    const packing = new Packing();
    packing.add(`{"openapi":"3.0.0",${member('info', this.#info())},"paths":{`);
    await this.#writePaths(packing, paths, path => pathV3(naming, definitions, this.#media, path));
    packing.add('},"components":{"schemas":{');
    await this.#writeDefinitions(packing, definitions);
    packing.add(`},${member('securitySchemes', security)}}}`);
    return packing.end();
  }

  async #versionTwo(): Promise<PackedDocument> {
    const {schemas, naming, enums = true} = this.#options;
    const definitions = new Definitions({
      schemas,
      naming,
      enums,
      dialect: openApiV2,
      custom: this.#allTypes(),
      write: memberInSteps,
      written: new Map(),
    });
    const packing = new Packing();
    packing.add(`{"swagger":"2.0",${member('info', this.#info())},"paths":{`);
    await this.#writePaths(packing, this.#allPaths(), path => pathV2(naming, definitions, this.#media, path));
    packing.add('},"definitions":{');
    await this.#writeDefinitions(packing, definitions);
    packing.add(`},${member('securityDefinitions', security)},${member('security', [{BearerToken: []}])}}`);
    return packing.end();
  }

  async #versionTwoMessage(): Promise<PackedDocument> {
    const {schemas, naming, enums = true} = this.#options;
    const definitions = new Definitions({
      schemas,
      naming,
      enums,
      dialect: openApiV2,
      custom: this.#allTypes(),
      write: definitionMessageInSteps,
      written: new Map(),
    });
    const paths: Buffer[] = [];
    await this.#inPieces(
      forEachInSteps(
        sorted(this.#allPaths()),
        path => void paths.push(pathMessage(path.path, pathV2(naming, definitions, this.#media, path))),
      ),
    );
    await this.#inPieces(writeAll(definitions));
    const frame = {swagger: '2.0', info: this.#info(), securityDefinitions: security, security: [{BearerToken: []}]};
    return Packing.whole(
      swaggerMessage(
        frame,
        paths,
        definitions.sorted().map(([, content]) => content),
      ),
    );
  }

  #allPaths(): Path[] {
    return [...this.#sources().values()].flatMap(({paths}) => paths());
  }

  #allTypes(): (ref: TypeRef) => DescribedResource | undefined {
    return customTypes([...this.#sources().values()].flatMap(({resources}) => resources));
  }

  #writePaths(packing: Packing, paths: readonly Path[], render: (path: Path) => Json): Promise<void> {
    let separator = '';
    return this.#inPieces(
      forEachInSteps(sorted(paths), path => {
        packing.add(`${separator}${member(path.path, render(path))}`);
        separator = ',';
      }),
    );
  }

  async #writeDefinitions(packing: Packing, definitions: Definitions<string>): Promise<void> {
    await this.#inPieces(writeAll(definitions));
    await this.#inPieces(
      forEachInSteps([...definitions.sorted().entries()], ([index, [, content]]) => packing.add(index === 0 ? content : `,${content}`)),
    );
  }

  /**
   * Runs the steps across turns of the event loop: there may be many paths and definitions, and a definition may have
   * very many fields.
   */
  #inPieces(work: Steps<void>): Promise<void> {
    return runStepsYielding(work, this.#pieces);
  }
}
