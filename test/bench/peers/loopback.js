// Portkey listens on every address of the machine and has no setting for it; the bench's servers are for this machine alone.
import { Server } from "node:net";

const listen = Server.prototype.listen;
Server.prototype.listen = function (port, ...rest) {
  return typeof port === "number"
    ? listen.call(this, { port, host: "127.0.0.1" }, ...rest.filter((each) => typeof each === "function"))
    : listen.call(this, port, ...rest);
};
