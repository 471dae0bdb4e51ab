import {MessageWriter, readMessage} from '#src/transport/grpc/message.js';
import {GrpcPlugin} from '#test/transport/grpc-plugin.js';

/** Encrypts by inverting all bits and putting the id of the key before them. */
const inverted = (bytes: Buffer): Buffer => Buffer.from(bytes.map(byte => byte ^ 0xff));

const fieldsOf = (message: Buffer): ReadonlyMap<number, Buffer> => {
  const fields = new Map<number, Buffer>();
  const keep = (number: number) => (field: {readonly bytes: Buffer}) => void fields.set(number, field.bytes);
  readMessage(message, {1: keep(1), 2: keep(2), 3: keep(3)});
  return fields;
};

/** A key management plugin at a unix socket, of both versions. Its state is changed by the tests. */
export class KmsPlugin extends GrpcPlugin {
  keyId = 'key-1';
  healthz = 'ok';
  version = 'v2';

  static start(): Promise<KmsPlugin> {
    return new KmsPlugin().listen();
  }

  get endpoint(): string {
    return `unix://${this.socket}`;
  }

  protected override answer(service: string, procedure: string, message: Buffer): MessageWriter {
    const fields = fieldsOf(message);
    const result = new MessageWriter();
    if (procedure === 'Status') return result.bytes(1, this.version).bytes(2, this.healthz).bytes(3, this.keyId);
    if (!service.startsWith('v2.')) return result.bytes(1, inverted(fields.get(2)!));
    if (procedure === 'Decrypt') return result.bytes(1, inverted(fields.get(1)!));
    const annotation = new MessageWriter().bytes(1, 'version.encryption.test').bytes(2, Buffer.of(1));
    return result
      .bytes(1, inverted(fields.get(1)!))
      .bytes(2, this.keyId)
      .message(3, annotation);
  }
}
