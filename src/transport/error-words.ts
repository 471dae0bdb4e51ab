// The words of failed calls, as upstream's clients have them, from the errors of this platform. Errors of dialing have
// their words from the network.

import type {Socket} from 'node:net';

/** The words of a TLS alert of the peer; undefined for other errors. */
const alertOf = (code: string): string | undefined => {
  const alert = /^ERR_SSL_(?:TLSV1|TLSV13|SSLV3|SSL\/TLS)_ALERT_(.+)$/.exec(code)?.[1];
  return alert && `remote error: tls: ${alert.toLowerCase().replaceAll('_', ' ')}`;
};

/** The error of a TLS handshake. */
export const tlsError = (error: NodeJS.ErrnoException): Error => {
  const {code = '', message} = error;
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG')
    return new Error('http: server gave HTTP response to HTTPS client', {cause: error});
  const alert = alertOf(code);
  if (alert) return new Error(alert, {cause: error});
  if (code === 'ECONNRESET' || code === 'EPIPE') return new Error('EOF', {cause: error});
  return new Error(message, {cause: error});
};

/**
 * The error of an HTTP/1.1 request on an established connection. Errors that have no code, such as those of dialing,
 * are returned unchanged.
 */
export const requestError = (error: NodeJS.ErrnoException, socket?: Socket | null): Error => {
  const {message} = error;
  const code = String(error.code ?? '');
  const words = (text: string): Error => new Error(text, {cause: error});
  if (code === 'HPE_HEADER_OVERFLOW') return words('net/http: server response headers exceeded the limit; aborted');
  if (code.startsWith('HPE_'))
    return words(`net/http: HTTP/1.x transport connection broken: malformed HTTP response: ${message.replace(/^Parse Error: /, '')}`);
  if (code.startsWith('ERR_SSL')) return tlsError(error);
  // The other side has ended the connection in order.
  if (code === 'ECONNRESET' && message === 'socket hang up') return words('EOF');
  if (code === 'ECONNRESET') return words(`read tcp ${ends(socket)}: read: connection reset by peer`);
  return code === 'EPIPE' ? words(`write tcp ${ends(socket)}: write: broken pipe`) : error;
};

/** Both ends of a connection. */
const ends = (socket: Socket | null | undefined): string =>
  `${socket?.localAddress}:${socket?.localPort}->${socket?.remoteAddress}:${socket?.remotePort}`;
