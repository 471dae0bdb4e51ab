import {tlsError} from '#src/transport/secure-dial.js';

const messages: Readonly<Record<string, string>> = {
  ECONNRESET: 'EOF',
  EPIPE: 'write: broken pipe',
  HPE_HEADER_OVERFLOW: 'net/http: server response headers exceeded the limit; aborted',
};

/** The error of a request on an established connection, as upstream's clients word it. */
export const requestError = (error: NodeJS.ErrnoException): Error => {
  const {code = '', message} = error;
  if (code.startsWith('ERR_SSL')) return tlsError(error);
  if (code.startsWith('HPE_') && code !== 'HPE_HEADER_OVERFLOW')
    return new Error(`malformed HTTP response: ${message.replace(/^Parse Error: /, '')}`, {cause: error});
  const text = messages[code];
  return text ? new Error(text, {cause: error}) : error;
};
