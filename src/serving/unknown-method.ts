import {IncomingMessage} from 'node:http';
import type {Socket} from 'node:net';
import type {Duplex} from 'node:stream';

/** The error of Node's parser for malformed requests. */
export interface ParseError extends Error {
  readonly code?: string;
  readonly bytesParsed?: number;
  readonly rawPacket?: Buffer;
}

const requestLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) (\S+) HTTP\/1\.([01])$/;
const field = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\n\r]*)$/;

const headOf = (packet: Buffer): readonly string[] | undefined => {
  const end = packet.indexOf('\r\n\r\n');
  return end < 0 ? undefined : packet.toString('latin1', 0, end).split('\r\n');
};

/**
 * Returns a request that Node's parser refuses only because of an unknown method; undefined for other reasons, or if
 * its head is incomplete. Its body is not read.
 */
export const requestOfUnknownMethod = ({code, bytesParsed = 0, rawPacket}: ParseError, socket: Duplex): IncomingMessage | undefined => {
  if (code !== 'HPE_INVALID_METHOD' || !rawPacket) return undefined;
  const [first = '', ...lines] = headOf(rawPacket) ?? [];
  const [, method, url, minor] = requestLine.exec(first) ?? [];
  // Behind another request in the same packet, the first line is not the refused one.
  if (method === undefined || bytesParsed > method.length) return undefined;
  const fields = lines.map(line => field.exec(line));
  if (fields.includes(null)) return undefined;
  const incoming = new IncomingMessage(socket as Socket);
  incoming.rawHeaders = fields.flatMap(found => [found![1]!, found![2]!.trim()]);
  Object.assign(incoming, {method, url, httpVersion: `1.${minor}`, httpVersionMajor: 1, httpVersionMinor: Number(minor)});
  incoming.push(null);
  return incoming;
};
