/*
 * Leads programs that use the C library's resolver to an emulator on this machine: names under aliyuncs.com and
 * fcapp.run get an address that nothing else has, and connections to the ports 80 and 443 of that address become
 * connections to the emulator's ports. Loaded with LD_PRELOAD; without its variables it changes nothing.
 *
 * Read: LOCALYUN_HTTP_PORT, LOCALYUN_HTTPS_PORT.
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

static const char ADDRESS[] = "127.86.79.1";

static int ends_with(const char *name, const char *suffix)
{
    size_t have = strlen(name), wanted = strlen(suffix);
    return have > wanted && strcasecmp(name + have - wanted, suffix) == 0;
}

static int is_of_the_cloud(const char *name)
{
    return name != NULL && (ends_with(name, ".aliyuncs.com") || ends_with(name, ".fcapp.run"));
}

static int port_of(const char *variable)
{
    const char *text = getenv(variable);
    return text != NULL ? atoi(text) : 0;
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{
    int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
        (int (*)(const char *, const char *, const struct addrinfo *, struct addrinfo **))dlsym(RTLD_NEXT, "getaddrinfo");
    struct addrinfo wanted;

    if (!is_of_the_cloud(name) || port_of("LOCALYUN_HTTP_PORT") == 0) {
        return next(name, service, hints, found);
    }
    memset(&wanted, 0, sizeof wanted);
    if (hints != NULL) {
        wanted = *hints;
    }
    wanted.ai_family = AF_INET;
    return next(ADDRESS, service, &wanted, found);
}

struct hostent *gethostbyname(const char *name)
{
    struct hostent *(*next)(const char *) = (struct hostent * (*)(const char *)) dlsym(RTLD_NEXT, "gethostbyname");

    return next(is_of_the_cloud(name) && port_of("LOCALYUN_HTTP_PORT") != 0 ? ADDRESS : name);
}

int connect(int descriptor, const struct sockaddr *address, socklen_t size)
{
    int (*next)(int, const struct sockaddr *, socklen_t) =
        (int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "connect");
    struct sockaddr_in target;
    int port;

    if (address == NULL || address->sa_family != AF_INET || size < sizeof target) {
        return next(descriptor, address, size);
    }
    memcpy(&target, address, sizeof target);
    if (target.sin_addr.s_addr != inet_addr(ADDRESS)) {
        return next(descriptor, address, size);
    }
    port = ntohs(target.sin_port);
    port = port == 80 ? port_of("LOCALYUN_HTTP_PORT") : port == 443 ? port_of("LOCALYUN_HTTPS_PORT") : port;
    target.sin_port = htons((unsigned short)port);
    target.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return next(descriptor, (const struct sockaddr *)&target, sizeof target);
}
