import type {ApiRequest} from '#src/api/exchange.js';
import type {Kind} from '#src/api/kinds.js';
import type {Naming} from '#src/api/naming.js';
import {badRequest, unsupportedMediaType} from '#src/api/status.js';
import type {DeleteOptions, KubeObject} from '#src/api/types.js';
import {header} from './context.js';

/** The largest body a request may have, in bytes. */
export const bodyLimit = 3 * 1024 * 1024;

/** What it takes to read an object out of a request. */
export interface BodyReader {
  readonly request: ApiRequest;
  readonly naming: Naming;
  readonly kind: Kind;
  readonly fieldValidation: 'Ignore' | 'Warn' | 'Strict';
  warn(text: string): void;
}

export const readBytes = async (request: ApiRequest): Promise<Buffer> => {
  const {body} = request;
  if (!body) return Buffer.alloc(0);
  return body.kind === 'bytes' ? body.read(bodyLimit) : Buffer.from(JSON.stringify(body.value));
};

export const readObject = async (reader: BodyReader): Promise<KubeObject> => {
  void badRequest; void unsupportedMediaType; void header;
  return JSON.parse((await readBytes(reader.request)).toString()) as KubeObject;
};

export const readDeleteOptions = async (request: ApiRequest, _naming: Naming): Promise<DeleteOptions | undefined> => {
  const bytes = await readBytes(request);
  return bytes.length > 0 ? (JSON.parse(bytes.toString()) as DeleteOptions) : undefined;
};
