import {sign} from 'node:crypto';
import {generatePrivateKey, publicKeyDer} from '#src/pki/keys/keys.js';
import {MessageWriter, readMessage} from '#src/transport/grpc/message.js';
import {GrpcPlugin} from '#test/transport/grpc-plugin.js';

type PrivateKey = Awaited<ReturnType<typeof generatePrivateKey>>;

interface SignerKey {
  readonly id: string;
  readonly key: PrivateKey;
  readonly isUndiscoverable?: boolean;
}

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A signer of service account tokens at a unix socket. Its state is changed by the tests. */
export class SignerPlugin extends GrpcPlugin {
  /** The first one signs. */
  keys: readonly SignerKey[] = [];
  maxSeconds = 86_400;
  refreshSeconds = 60;
  /** In s since the epoch. */
  dataAt: number | undefined = 1_700_000_000.5;
  /** Overrides of the header's fields. */
  header: object = {};
  signature: string | undefined;

  static async start(...ids: readonly string[]): Promise<SignerPlugin> {
    const plugin = new SignerPlugin();
    plugin.keys = await Promise.all(ids.map(aKey));
    return plugin.listen();
  }

  /** The number of calls of a procedure. */
  count(procedure: string): number {
    return this.calls[`/v1.ExternalJWTSigner/${procedure}`] ?? 0;
  }

  protected override answer(_service: string, procedure: string, message: Buffer): MessageWriter {
    const result = new MessageWriter();
    if (procedure === 'Metadata') return result.int(1, this.maxSeconds);
    if (procedure === 'FetchKeys') {
      for (const {id, key, isUndiscoverable = false} of this.keys)
        result.message(1, new MessageWriter().bytes(1, id).bytes(2, publicKeyDer(key)).flag(3, isUndiscoverable));
      if (this.dataAt !== undefined)
        result.message(2, new MessageWriter().int(1, Math.floor(this.dataAt)).int(2, Math.round((this.dataAt % 1) * 1e9)));
      return result.int(3, this.refreshSeconds);
    }
    let claims = '';
    readMessage(message, {1: ({text}) => (claims = text)});
    const {id, key} = this.keys[0]!;
    const header = encoded({alg: 'ES256', kid: id, typ: 'JWT', ...this.header});
    const made = sign('sha256', Buffer.from(`${header}.${claims}`), {key, dsaEncoding: 'ieee-p1363'}).toString('base64url');
    return result.bytes(1, header).bytes(2, this.signature ?? made);
  }
}

export const aKey = async (id: string): Promise<SignerKey> => ({id, key: await generatePrivateKey()});
