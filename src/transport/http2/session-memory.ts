/**
 * What an HTTP/2 session may hold, in MB: no limit. Beyond Node's own of 10 MB a session refuses further streams. It
 * counts the answers that wait, which the server bounds together (`Deliveries`), and from Node.js 22 on what a client
 * has still to send.
 */
export const maxSessionMemory = 4096;
