import {codeName, type GrpcError} from '#src/transport/grpc/channel.js';

/** Returns the text of a failed call as the original's clients print it. `endpoint`: the server, as `unix:///path`. */
export const rpcErrorText = (error: GrpcError, path: string, endpoint: string): string => {
  const own = `${endpoint}: `;
  const text = error.message.startsWith(`${path} was not answered within`)
    ? 'context deadline exceeded'
    : error.message.startsWith(own)
      ? `connection error: desc = ${JSON.stringify(error.message.slice(own.length))}`
      : error.message;
  return `rpc error: code = ${codeName(error.code)} desc = ${text}`;
};
