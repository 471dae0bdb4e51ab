import {nextTurn} from '#src/base/turn.js';
import type {Naming} from '#src/api/naming.js';
import type {Schemas} from '#src/schema/schemas.js';
import {Definitions, openApiV2, openApiV3, type Json, type WrittenDefinition} from './definitions.js';
import type {DescribedGroup} from './description.js';
import {capitalised} from './names.js';
import type {Path} from './operation.js';
import {groupVersionPaths, groupVersionRoot, rootPaths} from './operations.js';
import {Packing, type PackedDocument} from './packing.js';
import {definitionMessage, pathMessage, swaggerMessage} from './swagger-message.js';
import {defaultMediaTypes, pathV2, pathV3, type MediaTypes} from './render.js';

export interface OpenApiOptions {
  readonly schemas: Schemas;
  readonly naming: Naming;
  /** What is served, in the order of discovery. Asked for when a document is. */
  readonly groups: () => readonly DescribedGroup[];
  /** The server's version, for example `v1.35.0`. */
  readonly version: string;
  readonly mediaTypes?: MediaTypes;
}

const security = {BearerToken: {description: 'Bearer Token authentication', in: 'header', name: 'authorization', type: 'apiKey'}};

const sorted = (paths: readonly Path[]): Path[] => paths.toSorted((a, b) => (a.path < b.path ? -1 : 1));

/** Paths and definitions are written so many at once, some milliseconds' work; between that, whoever else waits for the server has his turn. */
const atOnce = 16;

/** Calls `step` until it says there is nothing left, in many turns. */
const inTurns = async (step: () => boolean): Promise<void> => {
  for (let count = 1; step(); count++) if (count % atOnce === 0) await nextTurn();
};

const overAll = <T>(items: readonly T[], act: (item: T) => void): Promise<void> => {
  const left = items.values();
  return inTurns(() => {
    const {done, value} = left.next();
    if (!done) act(value);
    return !done;
  });
};

/** A member of a JSON object. */
const member = (name: string, value: unknown): string => `${JSON.stringify(name)}:${JSON.stringify(value)}`;

type Text = Map<string, WrittenDefinition<string>>;

/** The OpenAPI documents of a server. Each is made when first asked for and kept until `forget`. */
export class OpenApiDocuments {
  readonly #options: OpenApiOptions;
  readonly #media: MediaTypes;
  readonly #v3 = new Map<string, Promise<PackedDocument>>();
  #index: Promise<PackedDocument> | undefined;
  #v2: Promise<PackedDocument> | undefined;
  #v2Message: Promise<PackedDocument> | undefined;

  constructor(options: OpenApiOptions) {
    this.#options = options;
    this.#media = options.mediaTypes ?? defaultMediaTypes;
  }

  /** Drops everything made so far, because what is served has changed. */
  forget(): void {
    this.#v3.clear();
    this.#index = undefined;
    this.#v2 = undefined;
    this.#v2Message = undefined;
  }

  /** `/openapi/v3`: where each document lies, with its hash. Makes all of them. */
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

  /** The document of `api/v1`, `apis/<group>/<version>` and their parents; undefined for one that does not exist. */
  document(name: string): Promise<PackedDocument> | undefined {
    return this.#document(name, new Map());
  }

  #document(name: string, text: Text): Promise<PackedDocument> | undefined {
    const known = this.#v3.get(name);
    if (known) return known;
    const paths = this.#sources().get(name);
    if (!paths) return undefined;
    const document = this.#versionThree(paths(), text);
    this.#v3.set(name, document);
    return document;
  }

  /** `/openapi/v2`: everything in one document. */
  swagger(): Promise<PackedDocument> {
    return (this.#v2 ??= this.#versionTwo());
  }

  /** The same in its binary form. */
  swaggerMessage(): Promise<PackedDocument> {
    return (this.#v2Message ??= this.#versionTwoMessage());
  }

  #sources(): Map<string, () => Path[]> {
    const {naming, groups} = this.#options;
    const served = groups();
    const roots = [...rootPaths(naming, served)].map(([name, path]): [string, () => Path[]] => [name, () => [path]]);
    const versions = served.flatMap(({group, versions}) =>
      versions.map(({version, resources}): [string, () => Path[]] => [
        groupVersionRoot(naming, group, version).slice(1),
        () => groupVersionPaths(naming, group, version, resources),
      ]),
    );
    return new Map([...roots, ...versions]);
  }

  #info(): Json {
    return {title: capitalised(this.#options.naming.self), version: this.#options.version};
  }

  async #versionThree(paths: readonly Path[], text: Text): Promise<PackedDocument> {
    const {schemas, naming} = this.#options;
    const definitions = new Definitions({schemas, naming, dialect: openApiV3, write: member, written: text});
    const packing = new Packing();
    packing.add(`{"openapi":"3.0.0",${member('info', this.#info())},"paths":{`);
    await this.#writePaths(packing, paths, path => pathV3(naming, definitions, this.#media, path));
    packing.add('},"components":{"schemas":{');
    await writeDefinitions(packing, definitions);
    packing.add(`},${member('securitySchemes', security)}}}`);
    return packing.end();
  }

  async #versionTwo(): Promise<PackedDocument> {
    const {schemas, naming} = this.#options;
    const definitions = new Definitions({schemas, naming, dialect: openApiV2, write: member, written: new Map()});
    const packing = new Packing();
    packing.add(`{"swagger":"2.0",${member('info', this.#info())},"paths":{`);
    await this.#writePaths(packing, this.#allPaths(), path => pathV2(naming, definitions, this.#media, path));
    packing.add('},"definitions":{');
    await writeDefinitions(packing, definitions);
    packing.add(`},${member('securityDefinitions', security)},${member('security', [{BearerToken: []}])}}`);
    return packing.end();
  }

  async #versionTwoMessage(): Promise<PackedDocument> {
    const {schemas, naming} = this.#options;
    const definitions = new Definitions({schemas, naming, dialect: openApiV2, write: definitionMessage, written: new Map()});
    const paths: Buffer[] = [];
    await overAll(sorted(this.#allPaths()), path => void paths.push(pathMessage(path.path, pathV2(naming, definitions, this.#media, path))));
    await inTurns(() => definitions.writeOne());
    const frame = {swagger: '2.0', info: this.#info(), securityDefinitions: security, security: [{BearerToken: []}]};
    return Packing.whole(swaggerMessage(frame, paths, definitions.sorted().map(([, content]) => content)));
  }

  #allPaths(): Path[] {
    return [...this.#sources().values()].flatMap(paths => paths());
  }

  #writePaths(packing: Packing, paths: readonly Path[], render: (path: Path) => Json): Promise<void> {
    let separator = '';
    return overAll(sorted(paths), path => {
      packing.add(`${separator}${member(path.path, render(path))}`);
      separator = ',';
    });
  }
}

const writeDefinitions = async (packing: Packing, definitions: Definitions<string>): Promise<void> => {
  await inTurns(() => definitions.writeOne());
  for (const [index, [, content]] of definitions.sorted().entries()) packing.add(index === 0 ? content : `,${content}`);
};
