// A registry of images that is read by the distribution API, for tests of pulling.

import {createHash} from 'node:crypto';
import {once} from 'node:events';
import {createServer, type IncomingMessage, type ServerResponse} from 'node:http';
import type {AddressInfo} from 'node:net';
import {buildImage, type ImageName} from './images/index.js';

const manifestType = 'application/vnd.oci.image.manifest.v1+json';
const layerType = 'application/vnd.oci.image.layer.v1.tar';
const configType = 'application/vnd.oci.image.config.v1+json';

interface Blob {
  readonly type: string;
  readonly bytes: Buffer;
}

/** An answer in place of the registry's own. */
export interface Fault {
  /** Matches `GET /v2/name/manifests/tag`, for example. */
  readonly request: RegExp;
  readonly status: number;
  /** How often; default: always. */
  times?: number;
}

export interface RegistryOptions {
  /** The address to listen at: that of the host in the network of a node. */
  readonly address: string;
  /** Asked for, if given. */
  readonly credentials?: {readonly username: string; readonly password: string};
}

const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

export class Registry implements AsyncDisposable {
  /** The requests, as `GET /v2/name/manifests/tag 200`. */
  readonly requests: string[] = [];
  readonly faults: Fault[] = [];
  /** Awaited before each answer, if set. */
  gate: Promise<void> | undefined;
  readonly #credentials: RegistryOptions['credentials'];
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  /** By digest. */
  readonly #blobs = new Map<string, Blob>();
  /** The digests of manifests by `name:tag`. */
  readonly #tags = new Map<string, string>();

  private constructor({credentials}: RegistryOptions) {
    this.#credentials = credentials;
  }

  static async start(options: RegistryOptions): Promise<Registry> {
    const registry = new Registry(options);
    registry.#server.listen(0, options.address);
    await once(registry.#server, 'listening');
    return registry;
  }

  get url(): string {
    const {address, port} = this.#server.address() as AddressInfo;
    return `http://${address}:${port}`;
  }

  /** Serves an image as `name:tag`. Returns the digest of its manifest. */
  add(name: string, tag: string, image: ImageName): string {
    const {config, layer} = buildImage(image);
    const descriptor = (mediaType: string, bytes: Buffer) => {
      const digest = digestOf(bytes);
      this.#blobs.set(digest, {type: mediaType, bytes});
      return {mediaType, digest, size: bytes.length};
    };
    const manifest = {
      schemaVersion: 2,
      mediaType: manifestType,
      config: descriptor(configType, config),
      layers: [descriptor(layerType, layer)],
    };
    const {digest} = descriptor(manifestType, Buffer.from(JSON.stringify(manifest)));
    this.#tags.set(`${name}:${tag}`, digest);
    return digest;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    await this.gate;
    const line = `${request.method} ${request.url?.split('?')[0]}`;
    const fault = this.faults.find(each => each.request.test(line) && (each.times ?? 1) > 0);
    if (fault?.times !== undefined) fault.times--;
    const status = fault?.status ?? this.#serve(request, response);
    this.requests.push(`${line} ${status}`);
    if (response.writableEnded) return;
    if (status === 401) response.setHeader('www-authenticate', 'Basic realm="registry"');
    response.writeHead(status).end(JSON.stringify({errors: [{code: status === 401 ? 'UNAUTHORIZED' : 'UNKNOWN', message: 'refused'}]}));
  }

  /** Answers with what is there, or returns the status of the refusal. */
  #serve(request: IncomingMessage, response: ServerResponse): number {
    if (!this.#isAllowed(request)) return 401;
    const path = request.url?.split('?')[0] ?? '';
    if (path === '/v2/') {
      response.writeHead(200).end();
      return 200;
    }
    const [, name = '', kind, reference = ''] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(path) ?? [];
    const digest = kind === 'manifests' ? (this.#tags.get(`${name}:${reference}`) ?? reference) : reference;
    const blob = this.#blobs.get(digest);
    if (!blob || !['GET', 'HEAD'].includes(request.method ?? '')) return 404;
    response.writeHead(200, {'content-type': blob.type, 'content-length': blob.bytes.length, 'docker-content-digest': digest});
    response.end(request.method === 'HEAD' ? undefined : blob.bytes);
    return 200;
  }

  #isAllowed({headers}: IncomingMessage): boolean {
    if (!this.#credentials) return true;
    const {username, password} = this.#credentials;
    return headers.authorization === `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  }
}
