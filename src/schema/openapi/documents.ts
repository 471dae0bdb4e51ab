import {createHash} from 'node:crypto';
import type {Naming} from '#src/api/naming.js';
import type {Schemas} from '#src/schema/schemas.js';
import {Definitions, openApiV2, openApiV3, type Json} from './definitions.js';
import type {DescribedGroup} from './description.js';
import {capitalised} from './names.js';
import type {Path} from './operation.js';
import {groupVersionPaths, groupVersionRoot, rootPaths} from './operations.js';
import {swaggerMessage} from './swagger-message.js';
import {defaultMediaTypes, pathV2, pathV3, type MediaTypes} from './render.js';

/** A document as it is sent; its hash is its ETag. */
export interface OpenApiDocument {
  readonly bytes: Buffer;
  /** SHA-512 in upper-case hex. */
  readonly hash: string;
}

export interface OpenApiOptions {
  readonly schemas: Schemas;
  readonly naming: Naming;
  /** What is served, in the order of discovery. Asked for when a document is. */
  readonly groups: () => readonly DescribedGroup[];
  /** The server's version, for example `v1.35.0`. */
  readonly version: string;
  readonly mediaTypes?: MediaTypes;
}

const sealed = (document: unknown): OpenApiDocument => hashed(Buffer.from(JSON.stringify(document)));

const hashed = (bytes: Buffer): OpenApiDocument => ({bytes, hash: createHash('sha512').update(bytes).digest('hex').toUpperCase()});

const security = {BearerToken: {description: 'Bearer Token authentication', in: 'header', name: 'authorization', type: 'apiKey'}};

const byPath = (a: Path, b: Path): number => (a.path < b.path ? -1 : 1);

/** The OpenAPI documents of a server. Each is made when first asked for and kept as bytes until `forget`. */
export class OpenApiDocuments {
  readonly #options: OpenApiOptions;
  readonly #media: MediaTypes;
  readonly #v3 = new Map<string, OpenApiDocument>();
  #index: OpenApiDocument | undefined;
  #v2: OpenApiDocument | undefined;
  #v2Message: OpenApiDocument | undefined;

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
  index(): OpenApiDocument {
    return (this.#index ??= sealed({paths: this.#entries()}));
  }

  #entries(): Json {
    const names = [...this.#sources().keys()].sort();
    return Object.fromEntries(names.map(name => [name, {serverRelativeURL: `/openapi/v3/${name}?hash=${this.document(name)?.hash}`}]));
  }

  /** The document of `api/v1`, `apis/<group>/<version>` and their parents; undefined for one that does not exist. */
  document(name: string): OpenApiDocument | undefined {
    const known = this.#v3.get(name);
    if (known) return known;
    const paths = this.#sources().get(name);
    if (!paths) return undefined;
    const document = sealed(this.#renderV3(paths()));
    this.#v3.set(name, document);
    return document;
  }

  /** `/openapi/v2`: everything in one document. */
  swagger(): OpenApiDocument {
    return (this.#v2 ??= sealed(this.#renderV2([...this.#sources().values()].flatMap(paths => paths()))));
  }

  /** The same in its binary form. */
  swaggerMessage(): OpenApiDocument {
    return (this.#v2Message ??= hashed(swaggerMessage(JSON.parse(this.swagger().bytes.toString()))));
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

  #renderV3(paths: readonly Path[]): Json {
    const {schemas, naming} = this.#options;
    const definitions = new Definitions(schemas, naming, openApiV3);
    const rendered = Object.fromEntries([...paths].sort(byPath).map(path => [path.path, pathV3(naming, definitions, this.#media, path)]));
    return {openapi: '3.0.0', info: this.#info(), paths: rendered, components: {schemas: definitions.all(), securitySchemes: security}};
  }

  #renderV2(paths: readonly Path[]): Json {
    const {schemas, naming} = this.#options;
    const definitions = new Definitions(schemas, naming, openApiV2);
    const rendered = Object.fromEntries([...paths].sort(byPath).map(path => [path.path, pathV2(naming, definitions, this.#media, path)]));
    return {
      swagger: '2.0',
      info: this.#info(),
      paths: rendered,
      definitions: definitions.all(),
      securityDefinitions: security,
      security: [{BearerToken: []}],
    };
  }
}
