/** The reports of a response on its sending, and whether that has ended. */
export const aDelivery = (endsAt: number) => {
  const delivery = {endsAt, ended: 0, [Symbol.dispose]: () => void delivery.ended++};
  return delivery;
};

/** Waits for an effect of sockets alone. */
export const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await new Promise(resolve => setImmediate(resolve));
};
