/** How a program reaches the API server; the original's name of the flag is known, too. */
export const serverConnection = {
  platconfig: {type: 'path', help: 'The kubeconfig file: the address of the API server and the credentials.', aliases: ['kubeconfig']},
  master: {type: 'string', help: 'The address of the API server. Takes precedence over the file.'},
} as const;
