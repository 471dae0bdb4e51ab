/** How long watches within the process last: no connection can go stale here, and no other server could take a watch over. */
export const watchSecondsInProcess = 86_400;
