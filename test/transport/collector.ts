import {MessageWriter, readMessage, type Field} from '#src/transport/grpc/message.js';
import {GrpcPlugin} from './grpc-plugin.js';

export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentId: string;
  name: string;
  kind: number;
  start: bigint;
  end: bigint;
  attributes: Record<string, string | number>;
  events: string[];
  links: string[];
  status: number;
}

const attributeTo = (attributes: Record<string, string | number>, {bytes}: Field): void => {
  let key = '';
  readMessage(bytes, {
    1: ({text}) => void (key = text),
    2: value => readMessage(value.bytes, {1: ({text}) => void (attributes[key] = text), 3: ({int}) => void (attributes[key] = int)}),
  });
};

const spanOf = (bytes: Buffer): ReceivedSpan => {
  const span: ReceivedSpan = {
    traceId: '',
    spanId: '',
    parentId: '',
    name: '',
    kind: 0,
    start: 0n,
    end: 0n,
    attributes: {},
    events: [],
    links: [],
    status: 0,
  };
  readMessage(bytes, {
    1: field => void (span.traceId = field.bytes.toString('hex')),
    2: field => void (span.spanId = field.bytes.toString('hex')),
    4: field => void (span.parentId = field.bytes.toString('hex')),
    5: ({text}) => void (span.name = text),
    6: ({int}) => void (span.kind = int),
    7: field => void (span.start = field.bytes.readBigUInt64LE()),
    8: field => void (span.end = field.bytes.readBigUInt64LE()),
    9: field => attributeTo(span.attributes, field),
    11: field => readMessage(field.bytes, {2: ({text}) => void span.events.push(text)}),
    13: field => readMessage(field.bytes, {1: id => void span.links.push(id.bytes.toString('hex'))}),
    15: field => readMessage(field.bytes, {3: ({int}) => void (span.status = int)}),
  });
  return span;
};

/** A collector of spans. */
export class Collector extends GrpcPlugin {
  readonly spans: ReceivedSpan[] = [];
  readonly resource: Record<string, string | number> = {};

  protected answer(_service: string, _procedure: string, message: Buffer): MessageWriter {
    readMessage(message, {
      1: part =>
        readMessage(part.bytes, {
          1: resource => readMessage(resource.bytes, {1: field => attributeTo(this.resource, field)}),
          2: scope => readMessage(scope.bytes, {2: field => void this.spans.push(spanOf(field.bytes))}),
        }),
    });
    return new MessageWriter();
  }
}
