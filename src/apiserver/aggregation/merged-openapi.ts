import type {Clock} from '#src/base/clock.js';
import {parseInSteps} from '#src/base/json/json-steps.js';
import {encodedInSteps} from '#src/base/json/json-text-steps.js';
import {runStepsYielding, type Steps} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import type {OpenApiDocuments} from '#src/schema/openapi/documents.js';
import {mergeParts} from '#src/schema/openapi/aggregated.js';
import {Packing, unpackDocument, type PackedDocument} from '#src/schema/openapi/packing.js';
import {definitionMessageInSteps, pathMessageInSteps, swaggerMessage} from '#src/schema/openapi/swagger-message.js';
import {rootOf, type Registration} from './registrations.js';
import type {RemoteOpenApi} from './remote-openapi.js';

/**
 * This server's OpenAPI documents, merged with those of the aggregated servers, if there are any, across turns of the
 * event loop.
 */
export class MergedOpenApi {
  readonly #own: OpenApiDocuments;
  readonly #remote: RemoteOpenApi;
  readonly #pieces: Yielder;
  #swagger: Promise<PackedDocument> | undefined;
  #message: Promise<PackedDocument> | undefined;

  constructor(own: OpenApiDocuments, remote: RemoteOpenApi, clock: Pick<Clock, 'monotonic'>) {
    this.#pieces = new Yielder(clock);
    this.#own = own;
    this.#remote = remote;
    remote.onChange(() => this.forget());
  }

  /** Called when the resources served here have changed. */
  forget(): void {
    this.#swagger = undefined;
    this.#message = undefined;
  }

  /** The index of the version 3 documents. */
  async index(): Promise<PackedDocument> {
    const own = await this.#own.index();
    const others = this.#remote.versionThree;
    if (others.length === 0) return own;
    const {paths} = JSON.parse((await unpackDocument(own)).toString()) as {paths: PlainObject};
    for (const [registration, document] of others) {
      const name = documentOf(registration);
      if ('made' in document) paths[name] = {serverRelativeURL: `/openapi/v3/${name}?hash=${document.made.hash}`};
      else for (const [key, entry] of Object.entries(document.listed)) if (key === name || !Object.hasOwn(paths, key)) paths[key] = entry;
    }
    const sorted = Object.fromEntries(Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1)));
    return Packing.whole(Buffer.from(JSON.stringify({paths: sorted})));
  }

  /** Returns a version 3 document of this server, or the registration of the server that has it. */
  document(name: string): Promise<PackedDocument> | Registration | undefined {
    const others = this.#remote.versionThree;
    const [registered, document] = others.find(([registration]) => documentOf(registration) === name) ?? [];
    if (document && 'made' in document) return Promise.resolve(document.made);
    if (registered && document && Object.hasOwn(document.listed, name)) return registered;
    return this.#own.document(name) ?? others.find(([, other]) => 'listed' in other && Object.hasOwn(other.listed, name))?.[0];
  }

  /** The version 2 document. */
  swagger(): Promise<PackedDocument> {
    if (this.#remote.versionTwo.length === 0) return this.#own.swagger();
    return (this.#swagger ??= this.#madeSwagger());
  }

  /** The version 2 document in its binary form. */
  swaggerMessage(): Promise<PackedDocument> {
    if (this.#remote.versionTwo.length === 0) return this.#own.swaggerMessage();
    return (this.#message ??= this.#madeMessage());
  }

  async #madeSwagger(): Promise<PackedDocument> {
    return Packing.whole(await runStepsYielding(encodedInSteps(await this.#merged()), this.#pieces));
  }

  async #madeMessage(): Promise<PackedDocument> {
    const {paths, definitions, ...frame} = await this.#merged();
    const [pathMessages, definitionMessages] = await Promise.all([
      runStepsYielding(messages(paths, pathMessageInSteps), this.#pieces),
      runStepsYielding(messages(definitions, definitionMessageInSteps), this.#pieces),
    ]);
    return Packing.whole(swaggerMessage(frame, pathMessages, definitionMessages));
  }

  async #merged(): Promise<PlainObject> {
    const own = await runStepsYielding(parseInSteps(await unpackDocument(await this.#own.swagger())), this.#pieces);
    const parts = this.#remote.versionTwo.map(([, part]) => part);
    return runStepsYielding(mergeParts(own as PlainObject, parts), this.#pieces);
  }
}

/** The name of the document of a registration's version. */
const documentOf = (registration: Registration): string => rootOf(registration).slice(1);

/** The binary form of each item; items of other servers that have none are left out. */
const messages = function* (items: unknown, write: (name: string, item: unknown) => Steps<Buffer>): Steps<Buffer[]> {
  const written: Buffer[] = [];
  for (const [name, item] of Object.entries(items as PlainObject)) {
    try {
      written.push(yield* write(name, item));
    } catch {
      continue;
    }
    yield;
  }
  return written;
};
