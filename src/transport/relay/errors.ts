import {tlsError} from '#src/transport/secure-dial.js';

const messages: Readonly<Record<string, string>> = {
  ECONNRESET: 'EOF',
  EPIPE: 'write: broken pipe',
  HPE_HEADER_OVERFLOW: 'net/http: server response headers exceeded the limit; aborted',
};

/** Why a request was not answered, once there was a connection, in the words that clients of the original know. */
export const requestError = (error: NodeJS.ErrnoException): Error => {
  const {code = '', message} = error;
  if (code.startsWith('ERR_SSL')) return tlsError(error);
  if (code.startsWith('HPE_') && code !== 'HPE_HEADER_OVERFLOW') return new Error(`malformed HTTP response: ${message.replace(/^Parse Error: /, '')}`, {cause: error});
  const text = messages[code];
  return text ? new Error(text, {cause: error}) : error;
};
